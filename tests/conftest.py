"""Set-up of all tests."""

import signal

# A suite in the background of a shell ignores interrupts, and so would the
# processes that its tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
  signal.signal(signal.SIGINT, signal.default_int_handler)
