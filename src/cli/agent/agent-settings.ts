import { withPort } from '#agent/dial-gateway.ts'
import { localServer } from '#agent/local-server.ts'
import { parseProxy } from '#agent/proxy/proxy-url.ts'
import { isLoopbackHost, parseHostPort } from '#base/hosts.ts'
import { choice, hostPort, list, onOff, text, yesNo, type ValueForm } from '#base/value-forms.ts'
import { agentLogLevels } from '#cli/agent/log-levels.ts'
import type { FileValue } from '#cli/agent/config-file.ts'
import { firstCredential } from '#cli/agent/first-credential.ts'
import { readSecretFile } from '#cli/agent/secret-file.ts'
import { ConfigError, UsageError } from '#cli/failure.ts'

/** A setting of the agent itself: a key of its file, and optionally a flag and a variable. */
interface AgentSetting<Value> {
  readonly form: ValueForm<Value>
  readonly doc: string
  readonly flag?: string
  readonly variable?: string
  /** A function if it depends on the machine. */
  readonly fallback?: Value | ((environment: NodeJS.ProcessEnv) => Value)
  readonly secret?: true
  /** The flag works but is not advertised. */
  readonly hidesFlag?: true
}

const setting = <Value, const Rest extends object>(
  spec: { readonly form: ValueForm<Value> } & Rest & Omit<AgentSetting<Value>, 'form'>,
): typeof spec => spec

const authtoken: ValueForm<string> = {
  ...text('token', '1 to 512 visible ASCII characters'),
  read: raw => (typeof raw === 'string' && /^[\x21-\x7e]{1,512}$/.test(raw) ? raw : undefined),
}

const captureBytes: ValueForm<number> = {
  ...text('bytes', 'a number of bytes, 0 or -1'),
  read: raw => (typeof raw === 'number' && Number.isSafeInteger(raw) && raw >= -1 ? raw : undefined),
}

const webAddress: ValueForm<string | false> = {
  ...hostPort,
  what: 'host:port or false',
  placeholder: '<host:port|false>',
  read: raw => (raw === false || raw === 'false' ? false : listenAddress(raw)),
}

/** Port 0 is a free one. */
const listenAddress = (raw: unknown): string | undefined => {
  const port = typeof raw === 'string' ? parseHostPort(raw)?.port : undefined
  return typeof raw === 'string' && port !== undefined && port < 65_536 ? raw : undefined
}

const proxyForm: ValueForm<string> = {
  ...text('url', 'http://host:port or socks5://host:port'),
  read: raw => (typeof raw === 'string' && parseProxy(raw) ? raw : undefined),
}

const serverForm: ValueForm<string> = {
  ...hostPort,
  what: 'host:port or a host, or several separated by commas',
  read: raw => {
    if (typeof raw !== 'string') return undefined
    const servers = raw.split(',').map(each => hostPort.read(withPort(each.trim())))
    return servers.includes(undefined) ? undefined : servers.join(',')
  },
}

const logTarget: ValueForm<string> = {
  ...text('stdout|stderr|false|file', 'stdout, stderr, false, text, json or the path of a file'),
  read: raw => (raw === false ? 'false' : text('file').read(raw)),
}

export const agentSettings = {
  version: setting({
    form: { ...choice([1]), what: '1, or 2 or 3 for a file of the hosted agent' },
    doc: 'Version of the file format.',
  }),
  server: setting({
    form: serverForm,
    doc: 'The gateway.',
    flag: '--server',
    variable: 'ADIT_SERVER_ADDR',
    fallback: localServer,
  }),
  authtoken: setting({
    form: authtoken,
    doc: 'The agent credential.',
    // Wrappers of the hosted agent pass it; other users of the machine can read it there.
    flag: '--authtoken',
    hidesFlag: true,
    variable: 'ADIT_AUTHTOKEN',
    secret: true,
  }),
  ca: setting({
    form: text('file|host', 'the path of a file, or host'),
    doc: "CA of the gateway's certificate, in addition to those of this machine; host: only those of this machine.",
    flag: '--ca',
    variable: 'ADIT_CA_FILE',
  }),
  ca_only: setting({ form: yesNo, doc: 'Trust only the CA of --ca.', flag: '--ca-only' }),
  proxy_url: setting({
    form: proxyForm,
    doc: 'Proxy for the connection to the gateway: http://host:port or socks5://host:port. (https_proxy, no_proxy)',
    flag: '--proxy-url',
    secret: true,
  }),
  metadata: setting({ form: text('text'), doc: 'Any text; it is shown with the session.' }),
  log: setting({
    form: logTarget,
    doc: 'Log to stdout, stderr or a file; text or json: lines on stdout instead of the view; false: no log.',
    flag: '--log',
  }),
  log_format: setting({
    form: choice(['term', 'logfmt', 'json']),
    doc: 'Log format: term, logfmt or json; term is logfmt without a terminal.',
    flag: '--log-format',
  }),
  log_level: setting({
    form: choice(agentLogLevels),
    doc: 'Log level.',
    flag: '--log-level',
    fallback: 'info',
  }),
  inspect: setting({
    form: onOff,
    doc: 'List and capture requests; by default on in a terminal and off in log lines.',
    flag: '--inspect',
  }),
  inspect_db_size: setting({
    form: captureBytes,
    doc: 'Bytes of memory for captured requests: 0 is 50 MB, -1 captures none.',
    fallback: 0,
  }),
  web_addr: setting({
    form: webAddress,
    doc: 'Address of the inspector and the local API, or false; default 127.0.0.1:4040 or the next free port.',
    flag: '--web-addr',
    variable: 'ADIT_WEB_ADDR',
  }),
  web_allow_hosts: setting({
    form: list('host', 'a list of addresses, networks, host names and .suffixes'),
    doc: 'Additional host names for the inspector, besides localhost.',
  }),
  update_check: setting({
    form: yesNo,
    doc: 'False disables updates, also those that the API requests.',
    fallback: true,
  }),
  update_url: setting({
    form: text('url', 'a URL such as https://example.com/adit.json'),
    doc: 'A JSON document with the newest "version".',
  }),
  update_command: setting({
    form: list('word', 'a list of words'),
    doc: 'Program and arguments that install {version}.',
  }),
}

export type AgentSettingName = keyof typeof agentSettings
type ValueOf<Name extends AgentSettingName> = Exclude<
  ReturnType<(typeof agentSettings)[Name]['form']['read']>,
  undefined
>

interface Origin<Value> {
  readonly value: Value
  /** Its source; undefined: the default. */
  readonly origin: string | undefined
}

/** Every setting with its value and source. */
export type AgentSettings = {
  readonly [Name in AgentSettingName]: (typeof agentSettings)[Name] extends { fallback: unknown }
    ? Origin<ValueOf<Name>>
    : Origin<ValueOf<Name>> | undefined
}

interface SettingSources {
  readonly flags: ReadonlyMap<string, readonly string[]>
  readonly environment: NodeJS.ProcessEnv
  readonly file: ReadonlyMap<string, FileValue>
}

export const settingRows = Object.entries(agentSettings) as [AgentSettingName, AgentSetting<unknown>][]

/** Resolves every setting: flag, variable, file, default, in this order. */
export function settleAgent(sources: SettingSources): AgentSettings {
  const settled = settingRows.map(([name, spec]) => [name, settle(name, spec, sources)] as const)
  const settings = Object.fromEntries(settled) as AgentSettings
  const token = tokenFile(sources) ?? settings.authtoken ?? localToken(settings, sources.environment)
  return { ...settings, authtoken: token }
}

function settle(
  name: string,
  spec: AgentSetting<unknown>,
  sources: SettingSources,
): Origin<unknown> | undefined {
  const { form, flag, variable, fallback } = spec
  const texts = flag === undefined ? undefined : sources.flags.get(flag)
  if (flag !== undefined && texts !== undefined)
    return { value: form.read(form.fromFlag(texts)) ?? refuse(`${flag} must be ${form.what}`), origin: flag }
  const given = variable === undefined ? undefined : sources.environment[variable]
  if (variable !== undefined && given !== undefined && given !== '')
    return { value: form.read(given) ?? refuse(`${variable} must be ${form.what}`), origin: variable }
  const inFile = sources.file.get(name)
  // The file has been read with the same form.
  if (inFile !== undefined) return { value: form.read(inFile.raw), origin: inFile.at }
  return fallback === undefined ? undefined : { value: fallbackOf(spec, sources), origin: undefined }
}

const fallbackOf = ({ fallback }: AgentSetting<unknown>, { environment }: SettingSources): unknown =>
  typeof fallback === 'function' ? (fallback as (from: NodeJS.ProcessEnv) => unknown)(environment) : fallback

const refuse = (complaint: string): never => {
  throw new UsageError(complaint)
}

function tokenFile({ flags }: SettingSources): Origin<string> | undefined {
  const path = flags.get('--authtoken-file')?.at(-1)
  if (path === undefined) return undefined
  const token = authtoken.read(readSecretFile(path))
  if (token !== undefined) return { value: token, origin: path }
  throw new ConfigError(`the file ${path} must contain an authtoken: ${authtoken.what}`)
}

/** Whether the gateway is on this machine. */
export const isLocal = (server: string): boolean => isLoopbackHost(parseHostPort(server)?.host ?? '')

/** In the folder of a running gateway its first credential is used. */
function localToken({ server }: AgentSettings, environment: NodeJS.ProcessEnv): Origin<string> | undefined {
  if (!isLocal(server.value)) return undefined
  const { path, text: found } = firstCredential(environment)
  const token = authtoken.read(found)
  return token === undefined ? undefined : { value: token, origin: path }
}
