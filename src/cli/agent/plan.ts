import { UsageError } from '#cli/failure.ts'
import type { Plan, WebScheme } from '#cli/agent/tunnel-plan.ts'
import { readSecretFile } from '#cli/agent/secret-file.ts'
import { propertyOf, valueOf } from '#tunnel/option-values.ts'
import type { TunnelKind } from '#tunnel/tunnel-option.ts'
import { flagName, flagsFor, optionRows, type OptionKey } from '#tunnel/tunnel-options.ts'
import type { EndpointOptions } from '#agent/options.ts'

/** The given options, by key, before parsing. */
type RawOptions = ReadonlyMap<OptionKey, unknown>
/** Throws with the position of an invalid option. */
type RefuseOption = (key: OptionKey, complaint: string) => never

/** The plan with the value of an option; some are parts of one value, such as headers to add and to remove. */
function withValue(plan: Plan, key: OptionKey, value: unknown): Plan {
  const [name, part] = propertyOf(key)
  if (part === undefined) return { ...plan, [name]: value }
  return { ...plan, [name]: { ...(plan[name as keyof Plan] as object | undefined), [part]: value } }
}

/** Parses the options of one tunnel and checks that they fit together. */
export function planOf(kind: TunnelKind, target: string, raw: RawOptions, refuse: RefuseOption): Plan {
  let plan: Plan = { forwardTo: target }
  for (const [key, option] of optionRows) {
    const given = raw.get(key)
    if (given === undefined) continue
    if (!option.kinds.includes(kind)) refuse(key, `is not an option of ${kind} tunnels`)
    const value = option.form.read(given) ?? refuse(key, `must be ${option.form.what}`)
    plan = withValue(plan, key, value === option.unsetBy ? undefined : value)
  }
  checkWhole(raw, refuse)
  checkTogether(kind, plan, refuse)
  return plan.labels === undefined && kind !== 'tunnel'
    ? { ...plan, proto: protoOf(kind, plan, refuse) }
    : plan
}

function checkWhole(raw: RawOptions, refuse: RefuseOption): void {
  for (const [key, { main }] of optionRows) {
    if (main === undefined || raw.has(key)) continue
    const map = key.slice(0, key.indexOf('.') + 1)
    const part = [...raw.keys()].find(each => each.startsWith(map))
    if (part !== undefined) refuse(part, `needs ${main} as well`)
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
export function withVariables(given: Plan, environment: NodeJS.ProcessEnv): Plan {
  let plan = given
  for (const [key, { variable, form }] of optionRows) {
    const text = variable && environment[variable.name]
    if (variable === undefined || text === undefined || text === '') continue
    if (valueOf(plan, variable.needs) === undefined || valueOf(plan, key) !== undefined) continue
    const value = form.read(text)
    if (value === undefined) throw new UsageError(`${variable.name} must be ${form.what}`)
    plan = withValue(plan, key, value)
  }
  return plan
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
    const [key, { form }] = row
    const values = flagsFor(row).flatMap(name => flags.get(name) ?? [])
    const texts = form.flagNamesFile ? values.slice(-1).map(readSecretFile) : values
    // An unparsable value is passed to the form too, which then reports what it must be.
    return texts.length === 0 ? [] : [[key, form.fromFlag(texts) ?? texts] as const]
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
