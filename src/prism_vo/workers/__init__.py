# SPDX-License-Identifier: Apache-2.0
"""Jobs in processes of their own, on this machine or on the workers of a Dask cluster."""
