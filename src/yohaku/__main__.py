"""`python -m yohaku` is `yohaku`."""

import sys

from yohaku.cli.main import main

sys.exit(main())
