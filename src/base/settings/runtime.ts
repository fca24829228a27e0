import {
  collector,
  headers,
  onOff,
  serviceName,
  share,
  text,
  tracesAddress,
  wholeNumber,
} from '#base/setting-values.ts'
import { type Setting, setting } from '#base/settings/setting.ts'

/** Socket reads, and what is recorded: logs, traces, metrics, and how long. */
export const runtimeSettings = {
  fast_reads: setting({
    doc: 'Faster socket reads through Node internals. Turn it off if there are problems after a Node upgrade.',
    example: 'SWITCH',
    fallback: 'on',
    read: onOff,
    gateway: true,
  }),
  access_log: setting({
    doc: 'Access log as JSON lines: a file, or stdout; none by default.',
    example: 'FILE',
    read: text,
    gateway: true,
  }),
  traces_endpoint: setting({
    doc: 'OpenTelemetry collector for request traces, as JSON over HTTP at /v1/traces; none by default.',
    example: 'URL',
    read: tracesAddress,
    gateway: true,
    standard: {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector,
      OTEL_EXPORTER_OTLP_ENDPOINT: tracesAddress,
    },
  }),
  traces_headers: setting({
    doc: 'Headers for that collector, such as its key.',
    example: 'NAME=VALUE,...',
    read: headers,
    gateway: true,
    standard: { OTEL_EXPORTER_OTLP_TRACES_HEADERS: headers, OTEL_EXPORTER_OTLP_HEADERS: headers },
  }),
  traces_sample: setting({
    doc: 'Fraction of requests that are traced, of those that are not part of a trace already.',
    example: 'SHARE',
    fallback: '0.01',
    read: share,
    gateway: true,
    standard: { OTEL_TRACES_SAMPLER_ARG: share },
  }),
  traces_service: setting({
    doc: 'Service name in traces.',
    example: 'NAME',
    fallback: 'adit',
    read: serviceName,
    gateway: true,
    standard: { OTEL_SERVICE_NAME: serviceName },
  }),
  audit_days: setting({
    doc: 'Days that changes are kept for GET /audit_events.',
    example: 'DAYS',
    fallback: '90',
    read: wholeNumber(1, 3650),
  }),
  kept_requests: setting({
    doc: 'Requests that each gateway process keeps for GET /requests; half a KiB each.',
    example: 'COUNT',
    fallback: '4096',
    read: wholeNumber(0, 1_000_000),
    gateway: true,
  }),
  metrics_endpoints: setting({
    doc: 'Endpoints with metrics of their own at /metrics, whose labels then have their names; further ones are counted together.',
    example: 'COUNT',
    fallback: '0',
    read: wholeNumber(0, 1000),
  }),
} satisfies Record<string, Setting<unknown>>
