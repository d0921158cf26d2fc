# A static binary on an image without a shell, run by nobody in particular.
#   docker build --build-arg VERSION=v1.2.3 -t agentruntime .
# The configuration is mounted at /etc/agentruntime, which stays as it is: a volume
# at /var/lib/agentruntime takes what the runtime keeps, with
#   store: {data_dir: /var/lib/agentruntime}
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=""
RUN CGO_ENABLED=0 go build -trimpath -tags=grpcnotrace -gcflags=all=-dwarf=false -ldflags "-s -w -X main.release=${VERSION}" -o /out/runtime ./cmd/runtime \
    && mkdir /out/data

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/runtime /usr/local/bin/runtime
COPY --from=build --chown=65532:65532 /out/data /var/lib/agentruntime
USER 65532:65532
WORKDIR /var/lib/agentruntime
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/runtime"]
CMD ["serve", "/etc/agentruntime/config.yaml"]
