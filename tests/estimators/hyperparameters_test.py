"""Tests for the fields of all configs, and values for them."""

import dataclasses
import pickle

import pytest

from srdice_tf import errors
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import presets
from srdice_tf.estimators import registry
from srdice_tf.estimators import representation
from srdice_tf.estimators import shared
from srdice_tf.estimators import srdice
from srdice_tf.estimators.linear import linear_srdice

_OWNERS = [*registry.ESTIMATORS.values(), *shared.PARTS.values()]


def test_a_name_has_one_meaning():
  """Of each name there is one field, whatever configs have it."""
  for owner in _OWNERS:
    texts = hyperparameters._texts(owner.Config)
    for field in dataclasses.fields(owner.Config):
      known, text = hyperparameters.fields()[field.name]
      assert (field.type, field.default) == (known.type, known.default)
      assert texts[field.name] == text, f'{owner.__name__}.{field.name}'
      assert field.metadata == known.metadata


def test_fields_are_explained_in_whole_sentences():
  for name, (_, text) in hyperparameters.fields().items():
    assert text[0].isupper() and text.endswith('.'), f'{name}: {text}'
    assert ' it.' not in text and not text.startswith('Of '), f'{name}: {text}'


def test_configs_have_the_values_of_their_fields():
  values = hyperparameters.Hyperparameters(updates=7, num_features=3, tau=0.1)
  config = values.of(srdice.SRDICEConfig)
  assert config == srdice.SRDICEConfig(updates=7, num_features=3)
  config = values.of(representation.RepresentationConfig)
  assert (config.num_features, config.tau) == (3, 0.1)
  assert values['updates'] == 7 and values['encoder_steps'] == 30_000


def test_equal_if_all_values_are():
  first = hyperparameters.Hyperparameters(updates=7)
  assert first == hyperparameters.Hyperparameters(updates=7, tau=0.005)
  assert first != hyperparameters.Hyperparameters(updates=8)
  assert first.replace(updates=250_000) == hyperparameters.Hyperparameters()
  assert len({first, hyperparameters.Hyperparameters(updates=7)}) == 1
  assert first.changes() == {'updates': 7}
  assert pickle.loads(pickle.dumps(first)) == first


def test_unknown_names_and_values_out_of_range_are_refused():
  with pytest.raises(errors.UserError, match='^updats=3: .*updates'):
    hyperparameters.Hyperparameters(updats=3)
  with pytest.raises(errors.UserError, match='^tau=2.0: .*at most 1'):
    hyperparameters.Hyperparameters(tau=2.0)
  with pytest.raises(errors.UserError, match='updates=1.5: .*whole number'):
    hyperparameters.Hyperparameters().replace(updates=1.5)
  for name in ('second_filters', 'linear_num_features'):
    with pytest.raises(errors.UserError, match=f'{name}=.* GiB of memory'):
      hyperparameters.Hyperparameters(**{name: 2**31 - 1})
  with pytest.raises(errors.UserError, match='linear_next_actions=.*10,000'):
    hyperparameters.Hyperparameters(linear_next_actions=2**31 - 1)


def test_what_methods_use():
  """Each method's own fields, and those of the parts that it trains."""
  values = hyperparameters.Hyperparameters(updates=7)
  found = values.for_methods(['srdice', 'deep_td'])
  assert list(found) == [
      'srdice', 'representation', 'flow_test', 'deep_td', 'value_function',
  ]
  assert found['srdice']['updates'] == 7
  assert found['value_function']['updates'] == 7
  assert found['representation']['encoder_steps'] == 30_000
  assert 'encoder_steps' not in found['srdice']


@pytest.mark.parametrize('features', ['auto', 'random', 'random,encoder'])
def test_the_encoder_is_shared_only_if_it_is_used(features):
  config = linear_srdice.LinearSRDICEConfig(linear_features=features)
  parts = linear_srdice.LinearSRDICE.shared_parts(config)
  assert ('representation' in parts) == ('encoder' in features)


@pytest.mark.parametrize('name', registry.ESTIMATORS)
def test_the_registry_has_the_names_of_the_classes(name):
  assert registry.ESTIMATORS[name].NAME == name


def test_presets_are_of_known_fields():
  for is_frames, names in (
      (False, presets.PRESETS), (True, presets.FRAME_PRESETS)
  ):
    for name in names:
      assert presets.preset(name, is_frames)['updates'] > 0
