"""The paper's claims, each with the rule that decides whether runs bear it."""

from srdice_tf.reports import atari_claims
from srdice_tf.reports import claim_checks
from srdice_tf.reports import claim_rules

_MIS, _TRAINED = claim_checks.MIS, claim_checks.TRAINED
_OURS, _DEEP_RL = ('srdice',), claim_checks.DEEP_RL
_best, _lower = claim_rules.best_share, claim_rules.lower_on_rewards
_BEHAVIOUR = (claim_rules.BEHAVIOUR,)  # With random rewards, the ratio 1.
# The paper has five locomotion tasks beside the two small ones.
_MANY = 5
_SMALL = 'Pendulum', 'Reacher'
_BOTH = 'hard', 'easy'
_ALL = _MANY + len(_SMALL)
_VANILLA = 'gradient_dice states_actions False'
_CLEARLY = (
    'clearly, that is: the 95% interval of the mean difference over common'
    ' seeds (three or more) is below 0'
)


CLAIMS = (
    claim_checks.Claim(
        'hard_mis',
        'SR-DICE outperforms DualDICE and GradientDICE in the hard setting.',
        'Figure 2',
        'On every locomotion task SR-DICE has the lower log error, against each'
        f' of the two, {_CLEARLY}; {_MANY} tasks or more. One clear loss'
        ' refutes.',
        claim_checks.lower_error(
            ('hard',), _OURS, _MIS, but=_SMALL, min_tasks=_MANY
        ),
    ),
    claim_checks.Claim(
        'small_mis',
        'Even on Pendulum and Reacher SR-DICE outperforms the baseline MIS'
        ' methods.',
        'Figure 6',
        'On both tasks, in the hard and the easy setting, SR-DICE has clearly'
        ' the lower log error, against each of the two.',
        claim_checks.lower_error(
            _BOTH, _OURS, _MIS, on=_SMALL, min_tasks=2
        ),
    ),
    claim_checks.Claim(
        'stable',
        'SR-DICE maintains a stable estimate, while the MIS methods are'
        ' particularly unstable, especially DualDICE.',
        'Discussion of the results',
        'Over the second half of the updates the estimate of SR-DICE has'
        ' clearly the smaller standard deviation (its logarithm is compared),'
        ' and so has that of GradientDICE against DualDICE, on every'
        ' locomotion task of the hard setting.',
        claim_checks.swings_less(
            [('srdice', m) for m in _MIS] + [_MIS[::-1]],
            but=_SMALL,
            min_tasks=_MANY,
        ),
    ),
    claim_checks.Claim(
        'deep_rl_mis',
        'The deep RL baselines outperform the MIS baselines at every task.',
        'Introduction',
        'On every task, in the easy and the hard setting, Deep TD and Deep SR'
        ' have clearly the lower log error, against each of the two.',
        claim_checks.lower_error(_BOTH, _DEEP_RL, _MIS, min_tasks=_ALL),
    ),
    claim_checks.Claim(
        'easy_mis',
        'SR-DICE significantly outperforms the other MIS methods in the easy'
        ' setting, except on Humanoid.',
        'Figure 1',
        'On every task but Humanoid SR-DICE has clearly the lower log error,'
        ' against each of the two; four locomotion tasks or more.',
        claim_checks.lower_error(
            ('easy',), _OURS, _MIS, but=('Humanoid', *_SMALL),
            min_tasks=_MANY - 1,
        ),
    ),
    claim_checks.Claim(
        'easy_humanoid',
        'On Humanoid in the easy setting GradientDICE is comparable to'
        ' SR-DICE.',
        'Figure 1',
        'The 95% interval of the difference of log errors is within ±1; refuted'
        ' if it is outside.',
        claim_checks.lower_error(
            ('easy',), _OURS, _MIS[1:], claim_checks.all_similar,
            on=('Humanoid',),
        ),
    ),
    claim_checks.Claim(
        'hard_deep_td',
        'Deep TD performs the strongest in every environment of the hard'
        ' setting.',
        'Figure 2',
        'On every locomotion task Deep TD has clearly the lower log error,'
        ' against each other trained method. One clear loss refutes.',
        claim_checks.lower_error(
            ('hard',), ('deep_td',), _TRAINED, but=_SMALL, min_tasks=_MANY
        ),
    ),
    claim_checks.Claim(
        'same_as_deep_sr',
        'Deep SR and SR-DICE perform similarly in every task.',
        'Discussion of the results',
        'On every task of the easy and the hard setting the 95% interval of the'
        ' difference of log errors is within ±1; refuted if it is outside on'
        ' one.',
        claim_checks.lower_error(
            _BOTH,
            _OURS,
            ('deep_sr',),
            claim_checks.all_similar,
            min_tasks=_ALL,
        ),
    ),
    claim_checks.Claim(
        'easy_behaviour',
        'In the easy setting the behaviour policy often outperforms all'
        ' methods.',
        'Figure 1',
        'On more than half of the tasks the behaviour policy’s value has'
        ' clearly the lower log error, against every method.',
        claim_checks.lower_error(
            ('easy',), _BEHAVIOUR, _TRAINED, claim_rules.on_most_tasks,
            min_tasks=3,
        ),
    ),
    claim_checks.Claim(
        'hard_behaviour',
        'In the hard setting the behaviour policy is a poor estimate of the'
        ' target policy.',
        'Figure 2',
        'On more than half of the tasks SR-DICE has clearly the lower log error'
        ' than the behaviour policy’s value.',
        claim_checks.lower_error(
            ('hard',), _OURS, _BEHAVIOUR, claim_rules.on_most_tasks,
            min_tasks=3,
        ),
    ),
    claim_checks.Claim(
        'rewards_share',
        'With random rewards SR-DICE is the best MIS method on over 80% of the'
        ' rewards.',
        'Figure 4',
        'On every task it has clearly the lowest log MSE of the three on at'
        ' least 80% of the rewards.',
        claim_checks.on_rewards(_best, _MIS, 0.8, _MANY),
    ),
    claim_checks.Claim(
        'rewards_humanoid',
        'On Humanoid SR-DICE is the best MIS method on over 98% of the random'
        ' rewards.',
        'Figure 4',
        'It has clearly the lowest log MSE of the three on at least 98%.',
        claim_checks.on_rewards(_best, _MIS, 0.98, on='Humanoid'),
    ),
    claim_checks.Claim(
        'rewards_mean',
        'With random rewards SR-DICE vastly outperforms the other MIS methods'
        ' in average log MSE.',
        'Figure 4',
        'On every task the mean log MSE over rewards is clearly the lower one,'
        ' against each of the two.',
        claim_checks.on_rewards(_lower, _MIS, _MANY),
    ),
    claim_checks.Claim(
        'rewards_behaviour',
        'With random rewards the ratios of SR-DICE are better than none.',
        'Not in the paper, whose table lacks the ratio 1',
        'On every task the mean log MSE is clearly lower than with all ratios'
        ' equal to 1.',
        claim_checks.on_rewards(_lower, _BEHAVIOUR, _MANY),
    ),
    claim_checks.Claim(
        'small_data',
        'SR-DICE performs well with as few as 5k transitions.',
        'Figure 5 (a)',
        'With no larger data set the log error is lower by more than 1; refuted'
        ' if for one the whole 95% interval is.',
        claim_checks.smallest_is_enough,
    ),
    claim_checks.Claim(
        'less_data',
        'In some instances SR-DICE is improved by less data.',
        'Figure 5 (a)',
        'Of two neighbouring sizes the smaller one has clearly the lower log'
        ' error, once or more; refuted if the larger one has it each time.',
        claim_checks.less_is_sometimes_more,
    ),
    claim_checks.Claim(
        'small_data_td',
        'For small data sets the SR methods outperform Deep TD.',
        'Figure 5 (a)',
        'On the smallest data set SR-DICE and Deep SR have clearly the lower'
        ' log error.',
        claim_checks.sr_on_smallest,
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
            [('dual_dice psi True', 'dual_dice states_actions False')]
        ),
    ),
    claim_checks.Claim(
        'dual_psi_input',
        'DualDICE gains slightly from psi as an input of its networks.',
        'Figure 7',
        'Over psi it has clearly the lower log error than over states and'
        ' actions.',
        claim_checks.over_representations(
            [('dual_dice psi False', 'dual_dice states_actions False')]
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
                ('gradient_dice phi False', _VANILLA),
                ('gradient_dice phi True', _VANILLA),
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
            (_VANILLA, 'gradient_dice psi True'),
            (_VANILLA, 'gradient_dice psi False'),
        ]),
    ),
    claim_checks.Claim(
        'big',
        'There is no clear benefit from larger networks.',
        'Figure 8',
        'With one more hidden layer no log error is lower by more than 1;'
        ' refuted if for one the whole 95% interval is.',
        claim_checks.no_gain_of_layers,
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
        'The mean seconds of each of the two are above those of SR-DICE.',
        claim_checks.seconds_ratio(_MIS, 1.0, float('inf')),
    ),
    claim_checks.Claim(
        'time_deep',
        'The deep RL methods run in about half the time of SR-DICE.',
        'Figure 10',
        'The mean seconds of Deep TD and Deep SR are between a third and three'
        ' quarters of those of SR-DICE.',
        claim_checks.seconds_ratio(('deep_td', 'deep_sr'), 1 / 3, 0.75),
    ),
    *atari_claims.CLAIMS,
    claim_checks.Claim(
        'chain_fast',
        'On the chain SR-DICE learns significantly faster.',
        'Figure 9',
        'For each kind of features it comes within 1 of the worst final log MSE'
        ' of the three after clearly fewer updates (their logarithm is'
        ' compared, over trials) than DualDICE and GradientDICE.',
        claim_checks.learns_faster(
            ('tabular', 'inverted', 'dependent'), [('srdice', m) for m in _MIS]
        ),
    ),
    claim_checks.Claim(
        'chain',
        'On the chain the final ratios of SR-DICE are much better with tabular'
        ' and inverted features.',
        'Figure 9',
        'For both kinds the log MSE over the last ten evaluations is clearly'
        ' lower than DualDICE’s and GradientDICE’s, over trials.',
        claim_checks.on_chain(
            ('tabular', 'inverted'), [('srdice', m) for m in _MIS]
        ),
    ),
    claim_checks.Claim(
        'chain_dependent',
        'With dependent features DualDICE outperforms SR-DICE, which still'
        ' outperforms GradientDICE.',
        'Figure 9',
        'The log MSE over the last ten evaluations is clearly lowest for'
        ' DualDICE, then for SR-DICE, over trials.',
        claim_checks.on_chain(
            ('dependent',),
            [('dual_dice', 'srdice'), ('srdice', 'gradient_dice')],
        ),
    ),
)
