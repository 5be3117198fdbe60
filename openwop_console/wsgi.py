"""What granian serves."""

import os

from django.core.wsgi import get_wsgi_application

from openwop_console.turns import taking_turns

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openwop_console.settings")

application = taking_turns(get_wsgi_application())
