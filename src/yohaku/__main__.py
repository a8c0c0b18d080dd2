"""`python -m yohaku` is `yohaku`."""

import sys

from yohaku.cli import main

sys.exit(main())
