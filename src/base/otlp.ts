/** Common parts of all OpenTelemetry signals sent as JSON over HTTP (OTLP). */

export interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue: string } | { readonly intValue: string }
}

/** Numbers are integers here; in JSON they are strings, because they have 64 bits. */
export const attribute = (key: string, value: string | number): Attribute => ({
  key,
  value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
})

/** A time in milliseconds since 1970. More than microseconds would not fit in a number. */
export const nanoseconds = (milliseconds: number): string => `${Math.round(milliseconds * 1000)}000`

/** The URL for one signal, from a collector's address with or without that path. */
export function signalAddress(endpoint: string, path: string): string {
  const base = endpoint.replace(/\/+$/, '')
  return base.endsWith(path) ? base : base + path
}

/** How many items the collector rejected; undefined when its response is not JSON. */
export function rejectedIn(
  body: string,
  counted: 'rejectedLogRecords' | 'rejectedSpans',
): number | undefined {
  try {
    const content = JSON.parse(body || '{}') as { partialSuccess?: Record<string, unknown> | null } | null
    return Number(content?.partialSuccess?.[counted] ?? 0)
  } catch {
    return undefined
  }
}

/** Whether an operator may set a header, its name in lower case; `reserved` are those that we set. */
export function headerVerdict(name: string, value: string): 'fine' | 'invalid' | 'reserved' {
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,256}$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    return 'invalid'
  const ours = /^(?:host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect)$/
  return ours.test(name) ? 'reserved' : 'fine'
}
