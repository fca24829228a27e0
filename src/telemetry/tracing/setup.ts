import { parseRange } from '#base/addresses.ts'
import { createEgress } from '#base/egress-client.ts'
import type { Egress } from '#base/egress.ts'
import type { GatewaySettings } from '#base/settings.ts'
import type { TracingSetup } from '#telemetry/tracing/tracing.ts'

const everywhere = ['0.0.0.0/0', '::/0'].flatMap(text => parseRange(text) ?? [])

/** The trace settings; undefined: off. */
export function tracingSetup(settings: GatewaySettings): TracingSetup | undefined {
  const { traces_endpoint: url, traces_headers: headers, traces_sample: share } = settings
  if (url === undefined) return undefined
  return { url, headers: headers ?? new Map(), share, service: settings.traces_service }
}

/** Private networks are allowed: the operator has chosen the collector, and users cannot. */
export const tracingParts = (
  setup: TracingSetup | undefined,
): { readonly setup: TracingSetup; readonly egress: Egress } | undefined =>
  setup && { setup, egress: createEgress({ allow: everywhere }) }
