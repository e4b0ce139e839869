# docker build -t prism-vo . && docker run --rm -v "$PWD:/work" prism-vo
# The demo writes its report to ./demo; any other command: docker run --rm -v "$PWD:/work" prism-vo prism-vo info my_walk
# Files belong to user 1000; another one: --user "$(id -u):$(id -g)".

FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    set -- /wheels/*.whl && python -m pip install --no-cache-dir "$1[sim,plot,ros]" \
    && useradd --create-home --uid 1000 prism \
    && mkdir /work && chown prism /work && chmod 1777 /work
# compiled kernels and matplotlib's fonts; writable whoever runs it
ENV XDG_CACHE_HOME=/tmp/cache MPLCONFIGDIR=/tmp/cache/matplotlib
USER prism
WORKDIR /work
CMD ["prism-vo", "demo"]
