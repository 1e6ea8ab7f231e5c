"""The paper's claims about ablations, representations and run times.

Each with the rule that decides whether runs bear it.
"""

from srdice_tf.reports import claim_checks
from srdice_tf.reports import claim_rules

_MIS, _OURS = claim_checks.MIS, ('srdice',)
_DEEP_RL = claim_checks.DEEP_RL
_DUAL = 'dual_dice, networks of (s, a)'
_GRADIENT = 'gradient_dice, networks of (s, a)'
_LAYERS = 'big_networks', 'hidden_layers', 'hidden layers'
_INPUTS = 'networks of phi', 'linear in phi', 'networks of psi', 'linear in psi'


CLAIMS = (
    claim_checks.Claim(
        'small_data',
        'SR-DICE performs well with as few as 5k transitions.',
        'Figure 5 (a)',
        'On the smallest data set it has clearly the lower log error than'
        ' DualDICE, GradientDICE and the behaviour policy’s value.',
        claim_checks.on_smallest(_OURS, (*_MIS, claim_rules.BEHAVIOUR)),
    ),
    claim_checks.Claim(
        'less_data',
        'In some instances SR-DICE is improved by less data.',
        'Figure 5 (a)',
        'Of each two sizes the smaller one has clearly the lower log error,'
        ' once or more; refuted if the larger one has it each time.',
        claim_checks.less_is_sometimes_more,
    ),
    claim_checks.Claim(
        'small_data_td',
        'For small data sets the SR methods outperform Deep TD.',
        'Figure 5 (a)',
        'On the smallest data set SR-DICE and Deep SR have clearly the lower'
        ' log error.',
        claim_checks.on_smallest(('srdice', 'deep_sr'), ('deep_td',)),
    ),
    claim_checks.Claim(
        'gamma_order',
        'The relative ordering across methods is unchanged by the discount.',
        'Figure 5 (b)',
        'Of each two methods the same one is clearly better at every discount,'
        ' or they are within ±1; refuted if two change places.',
        claim_checks.same_order_over_gamma,
    ),
    claim_checks.Claim(
        'noise',
        'With a behaviour policy of larger noise the results are similar:'
        ' SR-DICE is ahead of the MIS baselines.',
        'Figure 5 (c)',
        'SR-DICE has clearly the lower log error than DualDICE and'
        ' GradientDICE.',
        claim_checks.lower_error(('ablation_noise',), _OURS, _MIS),
    ),
    claim_checks.Claim(
        'noise_bias',
        'With it the deep RL methods are more biased than in the hard setting.',
        'Figure 5 (c)',
        'Deep TD and Deep SR have clearly the higher log error than in the hard'
        ' setting.',
        claim_checks.more_biased_by_noise,
    ),
    claim_checks.Claim(
        'deterministic',
        'With one deterministic policy the MIS baselines still perform poorly.',
        'Figure 5 (d)',
        'SR-DICE has clearly the lower log error than DualDICE and'
        ' GradientDICE.',
        claim_checks.lower_error(('ablation_deterministic',), _OURS, _MIS),
    ),
    claim_checks.Claim(
        'dual_psi',
        'DualDICE gains significantly from psi with linear networks.',
        'Figure 7',
        'Linear in psi it has clearly the lower log error than over states and'
        ' actions.',
        claim_checks.over_representations(
            [('dual_dice, linear in psi', _DUAL)]
        ),
    ),
    claim_checks.Claim(
        'dual_psi_input',
        'DualDICE gains slightly from psi as an input of its networks.',
        'Figure 7',
        'Over psi it has clearly the lower log error than over states and'
        ' actions.',
        claim_checks.over_representations(
            [('dual_dice, networks of psi', _DUAL)]
        ),
    ),
    claim_checks.Claim(
        'gradient_phi',
        'GradientDICE over phi matches the vanilla method, by networks or'
        ' linear.',
        'Figure 7',
        'The 95% intervals of the differences of log errors are within ±1;'
        ' refuted if one is outside.',
        claim_checks.over_representations(
            [
                ('gradient_dice, networks of phi', _GRADIENT),
                ('gradient_dice, linear in phi', _GRADIENT),
            ],
            claim_rules.similar,
        ),
    ),
    claim_checks.Claim(
        'gradient_psi',
        'GradientDICE performs much worse when using psi.',
        'Figure 7',
        'Over psi, linear or not, it has clearly the higher log error.',
        claim_checks.over_representations([
            (_GRADIENT, 'gradient_dice, linear in psi'),
            (_GRADIENT, 'gradient_dice, networks of psi'),
        ]),
    ),
    claim_checks.Claim(
        'gradient_inputs',
        'No representation benefits GradientDICE.',
        'Figure 7',
        'Over none of the four (phi or psi, networks or linear) its log error'
        ' is lower by more than 1; refuted if over one the whole 95% interval'
        ' is.',
        claim_checks.over_representations(
            [(f'gradient_dice, {x}', _GRADIENT) for x in _INPUTS],
            claim_rules.no_gain,
        ),
    ),
    claim_checks.Claim(
        'big',
        'There is no clear benefit from larger networks.',
        'Figure 8',
        'With one more hidden layer no log error is lower by more than 1;'
        ' refuted if for one the whole 95% interval is.',
        claim_checks.over_numbers(
            *_LAYERS, _MIS, claim_rules.no_gain, rising=False
        ),
    ),
    claim_checks.Claim(
        'big_worse',
        'There is a very slight decrease in performance with larger networks.',
        'Increased capacity',
        'With one more hidden layer each of the two has clearly the higher log'
        ' error.',
        claim_checks.over_numbers(*_LAYERS, _MIS),
    ),
    claim_checks.Claim(
        'batch',
        'DualDICE does as well with smaller minibatches than 2,048.',
        'Experimental details, not tested there in detail',
        '2,048 pairs instead of 256 do not lower its log error by more than 1;'
        ' refuted if the whole 95% interval of the difference does.',
        claim_checks.over_numbers(
            'batch_size', 'ratio_batch_size', 'pairs', _MIS[:1],
            claim_rules.no_gain, rising=False,
        ),
    ),
    claim_checks.Claim(
        'time_mis',
        'SR-DICE, DualDICE and GradientDICE run in a comparable time.',
        'Figure 10',
        'The mean seconds of each of the two are between half and twice those'
        ' of SR-DICE.',
        claim_checks.seconds_ratio(_MIS, 0.5, 2.0),
    ),
    claim_checks.Claim(
        'time_less',
        'SR-DICE and Deep SR have a lower run time than DualDICE and'
        ' GradientDICE.',
        'Experimental details',
        'The mean seconds of each of the two are above those of SR-DICE and of'
        ' Deep SR.',
        claim_checks.seconds_ratio(_MIS, 1.0, others=('srdice', 'deep_sr')),
    ),
    claim_checks.Claim(
        'time_w',
        'Training w involves significantly less compute than DualDICE and'
        ' GradientDICE.',
        'Run time experiments',
        'The mean seconds of each of the two are more than twice those of the'
        ' updates of w, without phi and psi.',
        claim_checks.seconds_ratio(_MIS, 2.0, last_phase=True),
    ),
    claim_checks.Claim(
        'time_deep',
        'The deep RL methods run in about half the time of SR-DICE.',
        'Figure 10',
        'The mean seconds of Deep TD and Deep SR are between a third and three'
        ' quarters of those of SR-DICE.',
        claim_checks.seconds_ratio(_DEEP_RL, 1 / 3, 0.75),
    ),
)
