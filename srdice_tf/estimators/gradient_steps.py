"""Steps of gradient descent and of target networks, inside compiled steps."""

import tensorflow as tf


def gradient_step(optimizers, variables, loss_function) -> tf.Tensor:
  """Takes one step down the loss.

  Args:
    optimizers: one, or a tuple of several with variables each.
    variables: a list, or a list for each of several optimisers.
    loss_function: returns the loss, a scalar.

  Returns:
    The loss before the step, known only after it: what depends on it reads the
    new variables.
  """
  if not isinstance(optimizers, tuple):
    optimizers, variables = (optimizers,), (variables,)
  with tf.GradientTape(watch_accessed_variables=False) as tape:
    tape.watch(variables)
    loss = loss_function()
  return apply(optimizers, variables, tape.gradient(loss, variables), loss)


def apply(optimizers, variables, gradients, loss) -> tf.Tensor:
  """Takes one step down gradients.

  Args:
    optimizers: a tuple.
    variables: a list for each of the optimisers.
    gradients: of the same form.
    loss: before the step.

  Returns:
    The loss, known only after the step.
  """
  _make_weights(optimizers, variables)
  # Said explicitly: Grappler loses the order of a read before an assignment,
  # and a late read would see the new value, in some runs.
  with tf.control_dependencies([loss, *tf.nest.flatten(gradients)]):
    applied = [
        optimizer.apply_gradients(zip(*pairs))
        for optimizer, *pairs in zip(optimizers, gradients, variables)
    ]
  with tf.control_dependencies(applied):
    return tf.identity(loss)


def _make_weights(optimizers, variables):
  """Makes what optimisers keep, as if it had been there before.

  A function that makes variables while it is traced is traced a second time.
  """
  not_lifted = {'experimental_enable_variable_lifting': False}
  make = lambda next_creator, **options: next_creator(**options | not_lifted)
  with tf.init_scope(), tf.variable_creator_scope(make):
    for optimizer, own in zip(optimizers, variables):
      optimizer._create_all_weights(own)


def saddle_step(minimizer, minimized, maximizer, maximized, objective):
  """Takes a step down for some variables, then one up for others.

  Args:
    minimizer: optimiser of `minimized`.
    minimized: variables that go down.
    maximizer: optimiser of `maximized`.
    maximized: variables that go up, with the new values of the others.
    objective: returns a scalar.

  Returns:
    The objective before both.
  """
  value = gradient_step(minimizer, minimized, objective)
  with tf.control_dependencies([value]):
    gradient_step(maximizer, maximized, lambda: -objective())
  return value


def update_target(target, source, config, count: tf.Variable, after):
  """Lets a target network follow its source, when `after` is known.

  Args:
    target: the network that follows.
    source: the network that was updated.
    config: with `tau`, or with `target_interval` for a copy every k-th update.
    count: the updates so far.
    after: a tensor of the source's update.
  """
  pairs = list(zip(target.trainable_variables, source.trainable_variables))
  with tf.control_dependencies([after]):
    if not config.target_interval:
      for old, new in pairs:
        old.assign_add(config.tau * (new - old))
      return
    is_due = tf.equal(count.assign_add(1) % config.target_interval, 0)
    tf.cond(is_due, lambda: _copy(pairs), lambda: None)


def _copy(pairs):
  for old, new in pairs:
    old.assign(new)
