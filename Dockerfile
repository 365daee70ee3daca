# proctor as an image: server, worker or any command. docs/install.md tells how it is built and run.
#
#     docker build -t proctor .
#     docker run --init -p 127.0.0.1:8420:8420 -v proctor:/data proctor
#
# Where packages come through a mirror, its pip.conf goes in as a secret, and stays out of the image:
#     docker build --secret id=pip,src=/etc/pip.conf -t proctor .
ARG BASE=python:3.11-slim

FROM ${BASE} AS made
WORKDIR /made
RUN python -m venv /opt/proctor
ENV PATH=/opt/proctor/bin:$PATH
COPY requirements-server.txt .
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    pip install --quiet --no-cache-dir --disable-pip-version-check --require-hashes -r requirements-server.txt
COPY pyproject.toml README.md ./
COPY src src
COPY configs configs
COPY docs docs
COPY examples examples
RUN pip install --quiet --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation . \
    && pip uninstall --quiet --yes hatchling editables pip \
    && python -m compileall -q /opt/proctor/lib

FROM ${BASE}
RUN useradd --uid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin proctor \
    && install --directory --owner proctor --mode 0700 /data
COPY --from=made /opt/proctor /opt/proctor
# A container listens for others: it asks them for keys (`proctor keys create`).
ENV PATH=/opt/proctor/bin:$PATH PROCTOR_HOME=/data PROCTOR_AUTH=keys PYTHONUNBUFFERED=1
USER proctor
WORKDIR /data
VOLUME /data
EXPOSE 8420
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8420/healthz', timeout=4)"]
ENTRYPOINT ["proctor"]
CMD ["serve", "--host", "0.0.0.0"]
