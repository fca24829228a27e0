import { UsageError } from '#cli/failure.ts'
import {
  flagsFor,
  type Plan,
  type PlanPart,
  type WebScheme,
  type TunnelKind,
  type TunnelOption,
} from '#cli/agent/tunnel-option.ts'
import { flagName, optionRows, type OptionKey } from '#cli/agent/tunnel-options.ts'
import type { EndpointOptions } from '#agent/options.ts'

/** The given options, by key, before parsing. */
export type RawOptions = ReadonlyMap<OptionKey, unknown>
/** Throws with the position of an invalid option. */
export type RefuseOption = (key: OptionKey, complaint: string) => never

const join = (left: unknown, right: unknown): unknown =>
  typeof left === 'object' && left !== null ? { ...left, ...(right as object) } : right

/** Merges options that are parts of one value, such as headers to add and to remove. */
function merged(into: PlanPart, more: PlanPart): PlanPart {
  const parts = Object.entries(more).map(([name, value]) => [name, join(into[name as keyof Plan], value)])
  return { ...into, ...Object.fromEntries(parts) }
}

function readOption(option: TunnelOption<unknown>, raw: unknown): PlanPart | undefined {
  const value = option.form.read(raw)
  return value === undefined ? undefined : option.to(value)
}

/** Parses the options of one tunnel and checks that they fit together. */
export function planOf(kind: TunnelKind, target: string, raw: RawOptions, refuse: RefuseOption): Plan {
  let parts: PlanPart = { forwardTo: target }
  for (const [key, option] of optionRows) {
    const given = raw.get(key)
    if (given === undefined) continue
    if (!option.kinds.includes(kind)) refuse(key, `is not an option of ${kind} tunnels`)
    const part = readOption(option, given) ?? refuse(key, `must be ${option.form.what}`)
    parts = merged(parts, part)
  }
  checkWhole(raw, refuse)
  // Required parts were checked above.
  const plan = parts as Plan
  checkTogether(kind, plan, refuse)
  return plan.labels === undefined && kind !== 'tunnel'
    ? { ...plan, proto: protoOf(kind, plan, refuse) }
    : plan
}

/** The part without which the others mean nothing. */
const mainParts: readonly (readonly [key: OptionKey, name: string])[] = [
  ['oauth.provider', 'a provider'],
  ['oidc.issuer_url', 'an issuer'],
  ['verify_webhook.provider', 'a provider'],
]

function checkWhole(raw: RawOptions, refuse: RefuseOption): void {
  for (const [main, name] of mainParts) {
    if (raw.has(main)) continue
    const whole = main.slice(0, main.indexOf('.') + 1)
    const part = [...raw.keys()].find(key => key.startsWith(whole))
    if (part !== undefined) refuse(part, `needs ${name} as well`)
  }
}

function checkTogether(kind: TunnelKind, plan: Plan, refuse: RefuseOption): void {
  if (plan.crt !== undefined && plan.key === undefined) refuse('crt', 'needs a key as well')
  if (plan.key !== undefined && plan.crt === undefined) refuse('key', 'needs a crt as well')
  if (kind === 'tls' && plan.mutualTlsCas !== undefined && plan.crt === undefined)
    refuse('mutual_tls_cas', 'needs a crt and a key as well, to terminate TLS in this agent')
  if (plan.domain !== undefined && plan.url !== undefined) refuse('url', 'and a domain cannot both be given')
}

/** The plan with missing values from variables. */
export function withVariables(plan: Plan, environment: NodeJS.ProcessEnv): Plan {
  let parts: PlanPart = plan
  for (const [, option] of optionRows) {
    const { variable, form } = option
    const given = variable && environment[variable.name]
    if (variable === undefined || given === undefined || given === '' || !variable.missingFrom(plan)) continue
    const part = readOption(option, given)
    if (part === undefined) throw new UsageError(`${variable.name} must be ${form.what}`)
    parts = merged(parts, part)
  }
  return parts as Plan
}

function protoOf(kind: Exclude<TunnelKind, 'tunnel'>, { url, schemes }: Plan, refuse: RefuseOption) {
  const scheme = /^([a-z]+):\/\//i.exec(url ?? '')?.[1]?.toLowerCase()
  const possible: readonly string[] = kind === 'http' ? (schemes ?? ['https', 'http']) : [kind]
  if (scheme !== undefined && !possible.includes(scheme))
    refuse('url', `must start with ${possible.map(each => `${each}://`).join(' or ')}`)
  return kind === 'http' ? ((scheme ?? schemes?.[0] ?? 'https') as WebScheme) : kind
}

/** The same from flags. */
export function planOfFlags(
  kind: TunnelKind,
  target: string,
  flags: ReadonlyMap<string, readonly string[]>,
): Plan {
  const given = optionRows.flatMap(row => {
    const texts = flagsFor(flagName(row), row[1]).flatMap(name => flags.get(name) ?? [])
    // An unparsable value is passed to the form too, which then says what it must be.
    return texts.length === 0 ? [] : [[row[0], row[1].form.fromFlag(texts) ?? texts] as const]
  })
  const refuse: RefuseOption = (key, complaint) => {
    const row = optionRows.find(([each]) => each === key)
    throw new UsageError(`${row ? flagName(row) : key} ${complaint}`)
  }
  return planOf(kind, target, new Map(given), refuse)
}

/** The endpoints of a tunnel. */
export function endpointsOf(plan: Plan, isLocal: boolean): EndpointOptions[] {
  const { schemes, crt, key, ...endpoint } = plan
  if (crt !== undefined && key !== undefined) return [terminated(endpoint, crt, key)]
  if (endpoint.proto !== 'http' && endpoint.proto !== 'https') return [endpoint]
  if (endpoint.url !== undefined && endpoint.url.includes('://')) return [endpoint]
  // Without TLS there are no client certificates.
  const isPlainToo = isLocal && endpoint.mutualTlsCas === undefined
  const wanted = schemes ?? (isPlainToo ? ['https', 'http'] : ['https'])
  return wanted.map(proto => ({ ...endpoint, proto }))
}

/** An endpoint whose TLS is terminated in this agent, which then requires certificates itself. */
function terminated(endpoint: EndpointOptions, crt: string, key: string): EndpointOptions {
  const { mutualTlsCas: clientCa, ...rest } = endpoint
  return { ...rest, terminate: { crt, key, ...(clientCa !== undefined && { clientCa }) } }
}
