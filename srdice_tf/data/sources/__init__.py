"""Where data sets come from: one file for each source.

A source is a function `load(place, ...)`. Its first argument says where the
data are: a directory, a name, a client of a server; the others are its own. It
hands the episodes it finds to `Dataset.from_episodes`, or arrays of rows to
`Dataset.from_rows`. What a source needs beyond this package's requirements it
imports in its function, so that others need not have it.

Those of our own data, below, return a `datasets.Dataset`. Those of data from
elsewhere return a `logged.Logged`, and `opening.KINDS` has a line for each.
"""

from srdice_tf.data.sources import collected
from srdice_tf.data.sources import reverb_server

SOURCES = {
    'collected': collected.load,
    'reverb_server': reverb_server.load,
}
