"""The paper's claims, each with the rule that decides whether runs bear it."""

from srdice_tf.reports import atari_claims
from srdice_tf.reports import chain_checks
from srdice_tf.reports import claim_checks
from srdice_tf.reports import claim_rules
from srdice_tf.reports import study_claims

_MIS, _TRAINED = claim_checks.MIS, claim_checks.TRAINED
_OURS, _DEEP_RL = ('srdice',), claim_checks.DEEP_RL
_best, _lower = claim_rules.best_share, claim_rules.lower_on_rewards
_BEHAVIOUR = (claim_rules.BEHAVIOUR,)  # With random rewards, the ratio 1.
# The paper has five locomotion tasks beside the two small ones.
_MANY = 5
_SMALL = 'Pendulum', 'Reacher'
_BOTH = 'hard', 'easy'
_CLEARLY = (
    'clearly, that is: the 95% interval of the mean difference over common'
    ' seeds (three or more) is below 0'
)
_LOSSES = 'A clear loss by 1 or more refutes, or two by less.'


CLAIMS = (
    claim_checks.Claim(
        'hard_mis',
        'SR-DICE outperforms DualDICE and GradientDICE in the hard setting.',
        'Figure 2',
        'On every locomotion task SR-DICE has the lower log error, against each'
        f' of the two, {_CLEARLY}; {_MANY} tasks or more. {_LOSSES}',
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
            _BOTH, _OURS, _MIS, on=_SMALL, min_tasks=2 * len(_SMALL)
        ),
    ),
    claim_checks.Claim(
        'rapid',
        'SR-DICE converges rapidly.',
        'Discussion of the results',
        'Of runs with the paper’s 250,000 updates: its estimate comes within'
        ' 10% of the true value of its own last one, to stay there, after'
        ' clearly fewer updates of w (their logarithm is compared) than'
        ' DualDICE’s and GradientDICE’s do, on every locomotion task of the'
        ' hard setting. Steps of phi and psi do not count.',
        claim_checks.settles_sooner(
            [('srdice', m) for m in _MIS], but=_SMALL, min_tasks=_MANY
        ),
    ),
    claim_checks.Claim(
        'stable',
        'SR-DICE maintains a stable estimate, while the MIS methods are'
        ' particularly unstable.',
        'Discussion of the results',
        'Over the second half of the updates the estimate of SR-DICE has'
        ' clearly the smaller standard deviation from a straight line (its'
        ' logarithm is compared), against each of the two, on every locomotion'
        ' task of the hard setting.',
        claim_checks.swings_less(
            [('srdice', m) for m in _MIS], but=_SMALL, min_tasks=_MANY
        ),
    ),
    claim_checks.Claim(
        'dual_unstable',
        'Of the MIS methods especially DualDICE is unstable.',
        'Discussion of the results',
        'Over the second half of the updates the estimate of GradientDICE has'
        ' clearly the smaller standard deviation from a straight line (its'
        ' logarithm is compared), on more than half of five locomotion tasks or'
        ' more of the hard setting; refuted if on more than half DualDICE has'
        ' it.',
        claim_checks.swings_less(
            [_MIS[::-1]], summary=claim_rules.on_most_tasks, but=_SMALL,
            min_tasks=_MANY,
        ),
    ),
    claim_checks.Claim(
        'deep_rl_mis',
        'At high-dimensional tasks the deep RL baselines outperform the MIS'
        ' baselines at every task.',
        'Introduction',
        'On every locomotion task, in the easy and the hard setting, and on'
        ' every game, Deep TD and Deep SR have clearly the lower log error,'
        ' against each of the two.',
        claim_checks.lower_error(
            (*_BOTH, 'atari_main'),
            _DEEP_RL,
            _MIS,
            but=_SMALL,
            min_tasks=2 * _MANY + atari_claims.NUM_GAMES,
        ),
    ),
    claim_checks.Claim(
        'direct_sr',
        'The direct SR approach is comparable to TD learning.',
        'Introduction',
        'On every locomotion task, in the easy and the hard setting, the 95%'
        ' interval of the difference of log errors of Deep SR and Deep TD is'
        ' within ±1; refuted if it is outside on one.',
        claim_checks.lower_error(
            _BOTH, _DEEP_RL[1:], _DEEP_RL[:1], claim_checks.all_similar,
            but=_SMALL, min_tasks=2 * _MANY,
        ),
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
        f' against each other trained method. {_LOSSES}',
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
            min_tasks=2 * (_MANY + len(_SMALL)),
        ),
    ),
    claim_checks.Claim(
        'psi_limits',
        'The limiting factor in SR-DICE is the quality of the deep successor'
        ' representation, rather than learning the density ratios.',
        'Discussion of the results',
        'On every locomotion task of the hard setting w in closed form does not'
        ' lower the log error of SR-DICE by more than 1; refuted if the whole'
        ' 95% interval of a difference does.',
        claim_checks.lower_error(
            ('hard',),
            ('srdice_closed',),
            _OURS,
            claim_checks.none_gains,
            but=_SMALL,
            min_tasks=_MANY,
        ),
    ),
    claim_checks.Claim(
        'easy_behaviour',
        'In the easy setting the behaviour policy often outperforms all'
        ' methods.',
        'Figure 1',
        'On more than half of the locomotion tasks the behaviour policy’s value'
        ' has clearly the lower log error, against every method.',
        claim_checks.lower_error(
            ('easy',), _BEHAVIOUR, _TRAINED, claim_rules.on_most_tasks,
            but=_SMALL, min_tasks=3,
        ),
    ),
    claim_checks.Claim(
        'hard_behaviour',
        'In the hard setting the behaviour policy is a poor estimate of the'
        ' target policy.',
        'Figure 2',
        'On more than half of the locomotion tasks SR-DICE has clearly the'
        ' lower log error than the behaviour policy’s value.',
        claim_checks.lower_error(
            ('hard',), _OURS, _BEHAVIOUR, claim_rules.on_most_tasks,
            but=_SMALL, min_tasks=3,
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
    *study_claims.CLAIMS,
    *atari_claims.CLAIMS,
    claim_checks.Claim(
        'chain_fast',
        'On the chain SR-DICE learns significantly faster.',
        'Figure 9',
        'With tabular and inverted features it comes within 1 of the worst'
        ' final log MSE of the three after clearly fewer updates (their'
        ' logarithm is compared, over trials) than DualDICE and GradientDICE.',
        chain_checks.learns_faster(
            ('tabular', 'inverted'), [('srdice', m) for m in _MIS]
        ),
    ),
    claim_checks.Claim(
        'chain',
        'On the chain the final ratios of SR-DICE are much better with tabular'
        ' and inverted features.',
        'Figure 9',
        'For both kinds the log MSE over the last ten evaluations is clearly'
        ' lower than DualDICE’s and GradientDICE’s, over trials.',
        chain_checks.on_chain(
            ('tabular', 'inverted'), [('srdice', m) for m in _MIS]
        ),
    ),
    claim_checks.Claim(
        'chain_improving',
        'On the chain GradientDICE appears to still be improving.',
        'Figure 9',
        'With each kind of features its log MSE over the last tenth of the'
        ' updates is clearly lower than over the tenth before, over trials.',
        chain_checks.still_improves(
            'gradient_dice', ('tabular', 'inverted', 'dependent')
        ),
    ),
    claim_checks.Claim(
        'chain_dependent',
        'With dependent features DualDICE outperforms SR-DICE, which still'
        ' outperforms GradientDICE.',
        'Figure 9',
        'The log MSE over the last ten evaluations is clearly lowest for'
        ' DualDICE, then for SR-DICE, over trials.',
        chain_checks.on_chain(
            ('dependent',),
            [('dual_dice', 'srdice'), ('srdice', 'gradient_dice')],
        ),
    ),
)
