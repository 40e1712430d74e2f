# docker build -t weir .        docs/container.md says what is inside, how to run it and how to pin it by digest.

# Any image with Node.js 26 and npm builds it, and any with Node.js 26 runs it. A digest may follow the tag (NAME:TAG@sha256:...).
ARG BUILD_IMAGE=docker.io/library/node:26-trixie-slim
ARG BASE_IMAGE=gcr.io/distroless/nodejs26-debian13:nonroot

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
# The secret "npmrc", if it is given, says where the registry is. It does not become part of the image.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node scripts/prepack.ts
# Packages next to the gateway, such as those of OpenTelemetry for tracing.export (docs/container.md). The manifest, by now the
# published one, says which versions fit.
ARG EXTRA_PACKAGES=""
WORKDIR /extra
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    mkdir node_modules && cp /src/package.json . \
    && if [ -n "$EXTRA_PACKAGES" ]; then \
      npm install --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund $EXTRA_PACKAGES; fi
RUN mkdir -m 700 /state

FROM ${BASE_IMAGE} AS gateway
ARG BASE_IMAGE
ARG VERSION=unknown
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="Weir" \
      org.opencontainers.image.description="A streaming reverse-proxy gateway in front of an OpenID Connect provider and your services" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}"
# The base without a shell has node here, where no PATH leads.
ENV PATH=/nodejs/bin:/usr/local/bin:/usr/bin:/bin NODE_ENV=production
# Half of what Node.js lets young objects take: up to 80 MiB less under load, for little processor time (docs/memory.md). And a helper
# thread of V8 for each processor but one: on two processors, Node's four take them from clients during a reload.
ENV NODE_OPTIONS="--max-semi-space-size=16 --v8-pool-size=0"
# libc gives memory back from 128 KiB on: by default it raises that to 64 MiB as it meets large pieces, and each thread keeps its own.
ENV MALLOC_TRIM_THRESHOLD_=131072
WORKDIR /opt/weir
COPY --from=build /extra/node_modules ./node_modules
COPY --from=build /src/config ./config
COPY --from=build /src/package.json /src/LICENSE /src/NOTICE ./
COPY --from=build /src/dist ./dist

# Compiled code of a start, which Node.js takes from there instead of compiling: a fifth less processor time for the health check,
# a tenth less until the gateway is ready.
FROM gateway AS started
USER 0:0
COPY scripts/image/start-once.ts scripts/image/image-bill.ts ./
RUN ["node", "start-once.ts"]
# What is in the image, with versions and licences: CycloneDX 1.6.
RUN ["node", "image-bill.ts"]

FROM gateway
COPY --from=started /opt/weir/node_modules/.cache ./node_modules/.cache
COPY --from=started /opt/weir/sbom.cdx.json ./
# For state: /var/lib/weir in gateway.yaml. A new volume that is mounted there gets its owner.
COPY --from=build --chown=65532:65532 /state /var/lib/weir
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
EXPOSE 8080 9090
# Node.js is process 1 and gets SIGTERM itself. It writes no file outside of `state`: the root may be read-only.
ENTRYPOINT ["node", "/opt/weir/dist/main.js"]
CMD ["serve", "/etc/weir/gateway.yaml"]
# Whether it responds, not whether it is ready: a gateway that waits for its provider needs no restart.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
  CMD ["node", "/opt/weir/dist/main.js", "health", "/etc/weir/gateway.yaml"]
