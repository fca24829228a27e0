/** What all signals of OpenTelemetry have in common when they are sent as JSON over HTTP (OTLP). */

export interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue: string } | { readonly intValue: string }
}

/** Numbers are whole here; in JSON they are text, because they have 64 bits. */
export const attribute = (key: string, value: string | number): Attribute => ({
  key,
  value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
})

/** A moment in milliseconds since 1970. More than microseconds would not fit in a number. */
export const nanoseconds = (milliseconds: number): string => `${Math.round(milliseconds * 1000)}000`

/** Where a collector takes one signal, given its address with or without the path of that signal. */
export function signalAddress(endpoint: string, path: string): string {
  const base = endpoint.replace(/\/+$/, '')
  return base.endsWith(path) ? base : base + path
}

/** How many of those sent the collector has not taken; undefined when its answer is not JSON. */
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

/** Whether a header, its name in lower case, can be given by an operator; `reserved` are those that we write. */
export function headerVerdict(name: string, value: string): 'fine' | 'invalid' | 'reserved' {
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,256}$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    return 'invalid'
  const ours = /^(?:host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect)$/
  return ours.test(name) ? 'reserved' : 'fine'
}
