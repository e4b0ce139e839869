# SPDX-License-Identifier: Apache-2.0
"""Those who watch while a run goes: Rerun, logs."""
