/** Names are compared in lower case and without the root dot. */
export const normalName = (name: string): string => name.toLowerCase().replace(/\.$/, '')

export interface HostPort {
  readonly host: string
  readonly port: number
}

/** Splits `host:port`, with an IPv6 host in brackets; undefined when it is not one. */
export function parseHostPort(text: string): HostPort | undefined {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]/\s@]+):(\d{1,5})$/.exec(text)
  if (!match?.[1] || !match[2]) return undefined
  return { host: match[1], port: Number(match[2]) }
}

/** Whether a host is this machine. An IPv6 address may be in brackets. */
export const isLoopbackHost = (host: string): boolean =>
  /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host)

/** Whether `name` is below the wildcard's base, at any depth. */
export const covers = (pattern: string, name: string): boolean =>
  pattern === name || (pattern.startsWith('*.') && name.endsWith(pattern.slice(1)))

/** The wildcards that cover a name, nearest first: `*.b.example.com`, `*.example.com`, `*.com`. */
export function* wildcardsOver(name: string): Generator<string> {
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) yield `*${name.slice(dot)}`
}
