# SPDX-License-Identifier: Apache-2.0
"""What objects look like in a notebook: small tables and drawings, without scripts or anything from elsewhere."""
