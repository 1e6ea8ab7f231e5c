"""Tests for the figures: what is drawn, by number."""

import os

from matplotlib import image
import numpy as np
import pytest

from srdice_tf.reports import figures

# Not all warnings: what other tests left to collect may be collected here.
pytestmark = [
    pytest.mark.filterwarnings('error::RuntimeWarning'),  # numpy's
    pytest.mark.filterwarnings('error::UserWarning'),  # matplotlib's
]
_NAN = float('nan')
_PAPER = ('srdice', 'dual_dice', 'gradient_dice', 'deep_sr', 'deep_td')


@pytest.fixture(name='draw')
def _draw(monkeypatch):
  """Returns a function that plots curves and returns the axes."""
  pictures = []
  save = lambda picture, path: pictures.append(picture)
  monkeypatch.setattr(figures, '_save', save)

  def draw(of_methods, behaviour=None, smoothing=1):
    figures.plot_curves('x.png', of_methods, behaviour, 'Title', smoothing)
    picture = pictures.pop()
    picture.draw_without_rendering()
    return picture.axes[0]

  return draw


def _line(axes, label):
  (line,) = [line for line in axes.lines if line.get_label() == label]
  return line


def test_mean_and_deviation_over_seeds(draw):
  steps = np.array([1000, 2000])
  axes = draw({'srdice': (steps, np.array([[1.0, -2.0], [3.0, -8.0]]))})
  np.testing.assert_array_equal(_line(axes, 'SR-DICE').get_xdata(), steps)
  np.testing.assert_array_equal(_line(axes, 'SR-DICE').get_ydata(), [2.0, -5.0])
  (shade,) = axes.collections
  corners = {tuple(corner) for corner in shade.get_paths()[0].vertices}
  assert len(corners) == 4
  # By n - 1 the deviations of two are their difference over sqrt(2).
  expected = {(x, mean + sign * np.sqrt(half)) for x, mean, half in
              ((1000, 2.0, 2.0), (2000, -5.0, 18.0)) for sign in (-1, 1)}
  np.testing.assert_allclose(sorted(corners), sorted(expected))


def test_one_seed_has_no_shade(draw):
  steps = np.array([1000, 2000])
  axes = draw({
      'srdice': (steps, np.array([1.0, 2.0])),
      'deep_td': (steps, np.array([[1.0, 2.0]])),
  })
  assert len(axes.lines) == 2 and not axes.collections


def test_curves_are_smoothed(draw):
  errors = np.array([4.0, 2.0, 6.0])
  axes = draw({'srdice': (np.arange(3), errors)}, smoothing=2)
  line = _line(axes, 'SR-DICE')
  np.testing.assert_array_equal(line.get_ydata(), [4.0, 3.0, 4.0])


def test_the_paper_s_colours_and_markers(draw):
  flat = (np.arange(3), np.zeros(3))
  axes = draw({method: flat for method in _PAPER})
  found = [(x.get_label(), x.get_color(), x.get_marker()) for x in axes.lines]
  assert found == [
      ('SR-DICE', 'tab:blue', 'o'),
      ('DualDICE', 'tab:orange', 's'),
      ('GradientDICE', 'tab:green', 'P'),
      ('Deep SR', 'tab:red', '^'),
      ('Deep TD', 'tab:purple', 'X'),
  ]


def test_other_methods_look_different(draw):
  flat = (np.arange(3), np.zeros(3))
  axes = draw({name: flat for name in ('SR-DICE', 'one', 'Deep SR', 'two')})
  assert [line.get_label() for line in axes.lines][1::2] == ['one', 'two']
  assert len({line.get_color() for line in axes.lines}) == 4
  assert len({line.get_marker() for line in axes.lines}) == 4


def test_markers_are_few_and_beside_each_other(draw):
  long = (np.arange(250), np.zeros(250))
  axes = draw({method: long for method in _PAPER})
  places = [line.get_markevery() for line in axes.lines]
  assert places == [(0, 25), (5, 25), (10, 25), (15, 25), (20, 25)]
  axes = draw({'srdice': (np.arange(4), np.zeros(4))})
  assert axes.lines[0].get_markevery() == (0, 1)


def test_what_is_not_finite_is_a_gap(draw):
  errors = np.array([[1.0, _NAN, np.inf, 1.0], [1.0, 1.0, 1.0, 3.0]])
  axes = draw({'srdice': (np.arange(4), errors)})
  drawn = _line(axes, 'SR-DICE').get_ydata()
  np.testing.assert_array_equal(drawn, [1.0, _NAN, _NAN, 2.0])


def test_a_diverged_method_is_named_so(draw):
  axes = draw({
      'dual_dice': (np.arange(3), np.array([1.0, _NAN, _NAN])),
      'deep_td': (np.arange(3), np.full([2, 3], np.inf)),
      'srdice': (np.arange(3), np.array([_NAN, 1.0, 1.0])),
  })
  labels = [line.get_label() for line in axes.lines]
  assert labels == ['DualDICE (diverged)', 'Deep TD (diverged)', 'SR-DICE']


def test_the_behaviour_is_a_dashed_black_line(draw):
  flat = (np.arange(3), np.zeros(3))
  line = draw({'srdice': flat}, behaviour=-1.5).lines[-1]
  assert list(line.get_ydata()) == [-1.5, -1.5]
  assert (line.get_color(), line.get_linestyle()) == ('black', '--')
  assert r'R(\pi_b)' in line.get_label()
  assert len(draw({'srdice': flat}, behaviour=_NAN).lines) == 1


def test_updates_are_in_thousands(draw):
  axes = draw({'srdice': (np.arange(0, 250_001, 1000), np.zeros(251))})
  labels = [label.get_text() for label in axes.get_xticklabels()]
  assert '50' in labels and '250' in labels
  assert axes.get_xlabel() == 'updates (thousands)'
  assert axes.get_title() == 'Title'


def test_closed_forms_have_no_updates_to_count(draw):
  closed_form = (np.array([1]), np.array([-3.0]))
  assert not list(draw({'linear_srdice': closed_form}).get_xticks())
  (line,) = draw({'srdice_closed': closed_form}).lines
  assert line.get_label() == 'SR-DICE, closed form'
  learned = (np.arange(3), np.zeros(3))
  axes = draw({'linear_srdice': closed_form, 'srdice': learned})
  assert len(axes.get_xticks()) > 1


@pytest.mark.parametrize(
    'of_methods', [{}, {'srdice': (np.array([]), np.array([]))}]
)
def test_nothing_to_draw_yet(draw, of_methods):
  assert len(draw(of_methods).lines) == len(of_methods)


def test_the_picture_is_replaced_whole(tmp_path):
  path = tmp_path / 'curve.png'
  path.write_text('old')
  flat = (np.arange(3), np.zeros(3))
  figures.plot_curves(str(path), {'srdice': flat}, -1.0, 'Title')
  assert image.imread(path).shape == (600, 1125, 4)
  assert os.listdir(tmp_path) == ['curve.png']


def test_panels_have_the_same_methods(monkeypatch):
  pictures = []
  save = lambda picture, path: pictures.append(picture)
  monkeypatch.setattr(figures, '_save', save)
  steps, errors = np.array([100, 200]), np.array([[1.0, -2.0], [3.0, -8.0]])
  panel = {'srdice': (steps, errors), 'dual_dice': (steps, errors - 1.0)}
  figures.plot_panels('x.png', {'one': panel, 'two': panel}, 'log MSE')
  (picture,) = pictures
  assert [axes.get_title() for axes in picture.axes] == ['one', 'two']
  assert picture.axes[0].get_ylabel() == 'log MSE'
  for axes in picture.axes:
    np.testing.assert_array_equal(_line(axes, 'SR-DICE').get_ydata(), [2, -5])
    np.testing.assert_array_equal(_line(axes, 'DualDICE').get_ydata(), [1, -6])
    assert len(axes.collections) == 2  # The shades.


def test_values_with_their_intervals_as_bands(monkeypatch):
  pictures = []
  monkeypatch.setattr(figures, '_save', lambda p, path: pictures.append(p))
  steps = np.array([1000, 2000])
  figures.plot_curves(
      'x.png',
      {'srdice': (steps, steps * 1.0), 'linear_srdice': ([1], [2.0])},
      None,
      'Title',
      values={
          'srdice': (steps, np.array([9.0, 3.0]), (2.0, 4.0)),
          'linear_srdice': (np.array([1]), np.array([2.5]), None),
      },
      truth=(2.6, 0.1),
  )
  _, axes = pictures[0].axes
  (band,) = axes.patches
  assert (band.get_y(), band.get_y() + band.get_height()) == (2.0, 4.0)
  curve, closed_form, truth = axes.lines
  np.testing.assert_array_equal(curve.get_ydata(), [9.0, 3.0])
  assert set(closed_form.get_ydata()) == {2.5}
  assert set(truth.get_ydata()) == {2.6}
  assert axes.get_ylim()[1] < 9.0  # The end is what is looked at.


@pytest.mark.parametrize('error, drawn', [(0.1, [-5.298317]), (0.0, [])])
def test_the_truth_s_own_error_is_a_dotted_line(monkeypatch, error, drawn):
  pictures = []
  monkeypatch.setattr(figures, '_save', lambda p, path: pictures.append(p))
  flat = np.array([1000, 2000]), np.zeros(2)
  figures.plot_curves(
      'x.png', {'srdice': flat}, None, 'Title', truth=(2.0, error)
  )
  (axes,) = pictures[0].axes
  lines = [x for x in axes.lines if x.get_label() == "truth's own error"]
  # log(0.5 * 0.1^2); an exact truth has no such line.
  assert [line.get_ydata()[0] for line in lines] == pytest.approx(drawn)
  assert all(line.get_linestyle() == ':' for line in lines)


def test_returns_have_their_deviation_as_a_shade(monkeypatch):
  pictures = []
  monkeypatch.setattr(figures, '_save', lambda p, path: pictures.append(p))
  points = [
      {'step': 0, 'mean_return': 1.0, 'std_return': 0.5},
      {'step': 5000, 'mean_return': 4.0, 'std_return': 2.0},
  ]
  figures.plot_returns('x.png', points, 'Hopper')
  (axes,) = pictures[0].axes
  assert axes.get_title() == 'Hopper'
  (line,) = axes.lines
  assert line.get_xydata().tolist() == [[0.0, 1.0], [5000.0, 4.0]]
  corners = {tuple(c) for c in axes.collections[0].get_paths()[0].vertices}
  assert corners == {(0, 0.5), (0, 1.5), (5000, 2), (5000, 6)}
