"""The paper's claims about Atari, each with the rule that decides it."""

from srdice_tf.reports import atari_checks
from srdice_tf.reports import claim_checks
from srdice_tf.reports import claim_rules

_MIS, _DEEP_RL = claim_checks.MIS, claim_checks.DEEP_RL
_OTHERS = ('srdice', *_DEEP_RL)
_BEHAVIOUR = (claim_rules.BEHAVIOUR,)
NUM_GAMES = 2  # For which agents are shipped.
_LOWER = (
    'SR-DICE, Deep SR and Deep TD have clearly the lower log error than'
    ' DualDICE and GradientDICE.'
)
_AHEAD = f'On every game (of two or more) {_LOWER}'
_BEHAVIOUR_AHEAD = (
    'On more than half of the games (of two or more) it has clearly the lower'
    ' log error, against every method.'
)


def _behaviour_wins(experiment: str) -> claim_checks.Decide:
  return claim_checks.lower_error(
      (experiment,), _BEHAVIOUR, claim_checks.TRAINED,
      claim_rules.on_most_tasks, min_tasks=NUM_GAMES,
  )


def _ahead_of_mis(
    experiment: str, num_games: int = NUM_GAMES
) -> claim_checks.Decide:
  return claim_checks.lower_error(
      (experiment,), _OTHERS, _MIS, min_tasks=num_games
  )


CLAIMS = (
    claim_checks.Claim(
        'atari_mis',
        'On Atari the MIS baselines are far behind: they diverge.',
        'Figure 3',
        f'{_AHEAD} Whether these diverge, their curves show.',
        _ahead_of_mis('atari_main'),
    ),
    claim_checks.Claim(
        'atari_far',
        'On Atari the MIS baselines exhibit unstable estimates, often reaching'
        ' errors of many orders of magnitude.',
        'Introduction',
        'On every game (of two or more), in at least half of the runs of both'
        ' methods together, an estimate on the way is off by more than 100'
        ' times the value. A value near 0, as Pong’s, makes that easy.',
        atari_checks.on_games(
            atari_checks.is_far_off, _MIS, 'atari_main', NUM_GAMES,
            together=True,
        ),
    ),
    claim_checks.Claim(
        'atari_biased',
        'On Atari the estimates of the deep RL methods are stable, but biased.',
        'Figure 3',
        'On every game (of two or more) the 95% interval of the mean (signed)'
        ' relative error of Deep SR and Deep TD, widened by that of the truth,'
        ' does not hold 0; no says what holds it and is within ±10%. That they'
        ' are stable is the claim below.',
        atari_checks.on_games(
            atari_checks.is_biased, _DEEP_RL, 'atari_main', NUM_GAMES
        ),
    ),
    claim_checks.Claim(
        'atari_stable',
        'On Atari, too, the estimates of SR-DICE and of the deep RL methods are'
        ' stable, those of the MIS methods are not.',
        'Figure 3, discussion of the results',
        'Over the second half of the updates each of the former has clearly the'
        ' smaller standard deviation from a straight line (its logarithm is'
        ' compared), on every game (of two or more).',
        claim_checks.swings_less(
            [(method, other) for method in _OTHERS for other in _MIS],
            'atari_main',
            min_tasks=NUM_GAMES,
        ),
    ),
    claim_checks.Claim(
        'atari_alike',
        'On Atari SR-DICE, Deep SR and Deep TD perform similarly.',
        'Figure 3',
        'On every game (of two or more) the 95% intervals of the differences of'
        ' log errors are within ±1; refuted if one is outside.',
        claim_checks.lower_error(
            ('atari_main',), ('srdice', 'deep_sr'), _DEEP_RL,
            claim_checks.all_similar, min_tasks=NUM_GAMES,
        ),
    ),
    claim_checks.Claim(
        'atari_behaviour',
        'On most games the behaviour policy’s value outperforms all methods.',
        'Figure 3',
        _BEHAVIOUR_AHEAD,
        _behaviour_wins('atari_main'),
    ),
    claim_checks.Claim(
        'atari_noise_mis',
        'With more noise DualDICE and GradientDICE still perform very poorly,'
        ' the other methods reasonably.',
        'Figure 11',
        _AHEAD,
        _ahead_of_mis('atari_noise'),
    ),
    claim_checks.Claim(
        'atari_noise_behaviour',
        'With more noise the behaviour policy’s value is still the closest'
        ' estimate.',
        'Figure 11',
        _BEHAVIOUR_AHEAD,
        _behaviour_wins('atari_noise'),
    ),
    claim_checks.Claim(
        'atari_separate_mis',
        'With the data of another agent the trends are similar: DualDICE and'
        ' GradientDICE are far behind.',
        'Figure 12',
        f'On every game that has a second agent {_LOWER}',
        _ahead_of_mis('atari_separate', 1),
    ),
    claim_checks.Claim(
        'atari_separate',
        'With the data of another agent Deep SR surpasses the behaviour'
        ' policy’s value in Asterix.',
        'Figure 12',
        'It has clearly the lower log error.',
        claim_checks.lower_error(
            ('atari_separate',), ('deep_sr',), _BEHAVIOUR, on=('ALE/Asterix',)
        ),
    ),
)
