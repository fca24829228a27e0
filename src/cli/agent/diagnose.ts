import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { isIP, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { AgentError } from '#agent/agent-error.ts'
import { dialFailure, trustFailure } from '#agent/dial-failure.ts'
import { beginTls, handshakeFailure, serverAddresses, type ServerAddress } from '#agent/dial-gateway.ts'
import { Probe } from '#agent/probe.ts'
import { proxyFor } from '#agent/proxy/proxy-url.ts'
import { reach } from '#agent/reach.ts'
import { Trust } from '#agent/trust.ts'
import type { AgentSettings } from '#cli/agent/agent-settings.ts'
import { absentToken } from '#cli/agent/failures.ts'

const WAIT_MS = 5000
const ADDRESS_ADVICE =
  'The token is fine: on the gateway, "adit api ip-restrictions list" shows which policies apply.'

export interface Finding {
  readonly step: string
  readonly result: 'ok' | 'failed' | 'skipped'
  readonly detail: string
  /** Advice for the user. */
  readonly advice?: string
}

/** A failed step, with advice. */
class StepError extends Error {
  readonly advice: string

  constructor(message: string, advice: string) {
    super(message)
    this.advice = advice
  }
}

/** State passed from one step to the next. */
interface Trial {
  readonly settings: AgentSettings
  readonly server: ServerAddress
  tcp?: Socket
  tls?: TLSSocket
  probe?: Probe
}

interface Step {
  readonly name: string
  /** The result in one line. */
  readonly run: (trial: Trial) => Promise<string>
  readonly advice: string
}

const steps: readonly Step[] = [
  { name: 'dns', run: resolve, advice: 'Check the name given with --server and the DNS of this machine.' },
  {
    name: 'tcp',
    run: connect,
    advice: 'Check that the gateway runs, that this is its agent_addr, and that no firewall blocks it.',
  },
  {
    name: 'tls',
    run: encrypt,
    advice: 'Another program may listen there: use the port of agent_addr.',
  },
  {
    name: 'protocol',
    run: ask,
    advice: 'Another program, or a proxy that terminates TLS, may listen there.',
  },
  { name: 'login', run: signIn, advice: 'Try again; see the gateway log for details.' },
  { name: 'heartbeat', run: beat, advice: 'The connection loses data, or the gateway is overloaded.' },
]

/** Checks the connection to the gateway step by step; stops at the first failure. */
export async function diagnose(settings: AgentSettings): Promise<Finding[]> {
  const trial: Trial = { settings, server: serverAddresses(settings.server.value)[0] }
  const findings: Finding[] = []
  try {
    for (const step of steps) {
      const isStopped = findings.some(({ result }) => result !== 'ok')
      findings.push(isStopped ? { step: step.name, result: 'skipped', detail: '' } : await tried(step, trial))
    }
    return findings
  } finally {
    trial.probe?.[Symbol.dispose]()
    trial.tls?.destroy()
    trial.tcp?.destroy()
  }
}

async function tried({ name, run, advice }: Step, trial: Trial): Promise<Finding> {
  try {
    return { step: name, result: 'ok', detail: await run(trial) }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const detail = error instanceof AgentError || error instanceof StepError ? message : (code ?? message)
    const more = error instanceof StepError ? error.advice : error instanceof AgentError ? undefined : advice
    return { step: name, result: 'failed', detail, ...(more !== undefined && { advice: more }) }
  }
}

async function resolve({ server: { host }, settings }: Trial): Promise<string> {
  if (isIP(host) !== 0) return `${host} is already an address`
  const proxy = proxyFor(host, settings.proxy_url?.value, process.env)
  if (proxy) return `${host} is resolved by the proxy ${proxy.text}`
  const found = await lookup(host, { all: true })
  return `${host} is ${found.map(({ address }) => address).join(', ')}`
}

async function connect(trial: Trial): Promise<string> {
  const { server, settings } = trial
  const begun = performance.now()
  try {
    trial.tcp = await reach(server, { proxyUrl: settings.proxy_url?.value }, AbortSignal.timeout(WAIT_MS))
  } catch (error) {
    throw dialFailure(error, server, WAIT_MS)
  }
  return `connected to ${server.text} in ${(performance.now() - begun).toFixed(1)} ms`
}

/** Waits for an event; later errors are reported by the next wait. */
async function settled(socket: Socket, event: string): Promise<void> {
  socket.on('error', () => undefined)
  try {
    await once(socket, event, { signal: AbortSignal.timeout(WAIT_MS) })
  } catch (error) {
    const isLate = (error as Error).name === 'AbortError'
    throw isLate ? new Error(`no response within ${WAIT_MS / 1000} s`, { cause: error }) : error
  }
}

async function encrypt(trial: Trial): Promise<string> {
  const { settings, server, tcp } = trial
  if (!tcp) throw new Error('there is no connection')
  const trust = new Trust(settings.ca?.value, settings.ca_only?.value)
  // Untrusted certificates are read too, to explain the problem; nothing is sent to such a peer.
  trial.tls = beginTls(tcp, server, { trust, taken: [] })
  await settled(trial.tls, 'secureConnect').catch((error: unknown) => {
    throw handshakeFailure(error, server, WAIT_MS)
  })
  const facts = certificateFacts(trial.tls)
  const failure = trustFailure(trial.tls, server, trust.given)
  if (failure === undefined) return `${trial.tls.getProtocol() ?? 'TLS'}, ${facts}`
  throw new StepError(failure.message, `It showed a ${facts}.`)
}

function certificateFacts(socket: TLSSocket): string {
  const certificate = socket.getPeerX509Certificate()
  if (!certificate) return 'no certificate'
  const [from, until] = [certificate.validFromDate, certificate.validToDate].map(date =>
    date.toISOString().slice(0, 10),
  )
  const subject = certificate.subjectAltName ?? certificate.subject
  const issuer = certificate.issuer.replaceAll('\n', ', ')
  return `certificate for ${subject}, signed by ${issuer}, valid from ${from} to ${until}`
}

async function ask(trial: Trial): Promise<string> {
  if (!trial.tls) throw new Error('there is no connection')
  trial.probe = new Probe(trial.tls, trial.server.text)
  const { region } = await trial.probe.gateway()
  return `a gateway responds, region ${region}`
}

async function signIn({ probe, settings }: Trial): Promise<string> {
  const { authtoken } = settings
  const advice =
    'Set ADIT_AUTHTOKEN to the token of an agent credential, or store it with "adit config add-authtoken -".'
  if (authtoken === undefined || probe === undefined) throw new StepError(absentToken(settings), advice)
  try {
    const { session, version } = await probe.login({ authtoken: authtoken.value })
    return `signed in with the authtoken of ${authtoken.origin ?? 'the default'} as ${session}, gateway version ${version}`
  } catch (error) {
    if (error instanceof AgentError && error.code !== undefined) {
      const isAddress = error.code === 'ERR_ADIT_90050'
      throw new StepError(`${error.message} (${error.code})`, isAddress ? ADDRESS_ADVICE : advice)
    }
    throw error
  }
}

async function beat({ probe }: Trial): Promise<string> {
  return `a heartbeat takes ${((await probe?.latency()) ?? 0).toFixed(1)} ms`
}
