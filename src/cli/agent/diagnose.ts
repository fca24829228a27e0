import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { AgentError } from '#agent/agent-error.ts'
import { serverAddress, type ServerAddress } from '#agent/dial-gateway.ts'
import { Probe } from '#agent/probe.ts'
import { Trust } from '#agent/trust.ts'
import type { AgentSettings } from '#cli/agent/agent-settings.ts'

const WAIT_MS = 5000
const DAY_MS = 86_400_000

export interface Finding {
  readonly step: string
  readonly result: 'ok' | 'failed' | 'skipped'
  readonly detail: string
  /** What a person can do. */
  readonly advice?: string
}

/** A step that did not work, and what can be done. */
class StepError extends Error {
  readonly advice: string

  constructor(message: string, advice: string) {
    super(message)
    this.advice = advice
  }
}

/** What one step leaves for the next ones. */
interface Trial {
  readonly settings: AgentSettings
  readonly server: ServerAddress
  tcp?: Socket
  tls?: TLSSocket
  probe?: Probe
}

interface Step {
  readonly name: string
  /** Says in a line what was found. */
  readonly run: (trial: Trial) => Promise<string>
  readonly advice: string
}

const steps: readonly Step[] = [
  { name: 'dns', run: resolve, advice: 'Check the name given with --server and the DNS of this machine.' },
  {
    name: 'tcp',
    run: reach,
    advice: 'Is the gateway running, is this the address of agent_addr, and does a firewall let it through?',
  },
  {
    name: 'tls',
    run: encrypt,
    advice: 'Something else than a gateway may listen there: this is the port of agent_addr.',
  },
  {
    name: 'protocol',
    run: ask,
    advice: 'Something else than a gateway, or a proxy that ends TLS, may listen there.',
  },
  { name: 'login', run: signIn, advice: 'Try again; the log of the gateway tells more.' },
  { name: 'heartbeat', run: beat, advice: 'The connection loses data, or the gateway is overloaded.' },
]

/** Tries the way to the gateway step by step; what follows a step that failed is not tried. */
export async function diagnose(settings: AgentSettings): Promise<Finding[]> {
  const trial: Trial = { settings, server: serverAddress(settings.server.value) }
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
    return {
      step: name,
      result: 'failed',
      detail,
      advice: error instanceof StepError ? error.advice : advice,
    }
  }
}

async function resolve({ server: { host } }: Trial): Promise<string> {
  if (isIP(host) !== 0) return `${host} is an address already`
  const found = await lookup(host, { all: true })
  return `${host} is ${found.map(({ address }) => address).join(', ')}`
}

async function reach(trial: Trial): Promise<string> {
  const { host, port, text } = trial.server
  const begun = performance.now()
  trial.tcp = connectTcp({ host, port })
  await settled(trial.tcp, 'connect')
  return `connected to ${text} in ${(performance.now() - begun).toFixed(1)} ms`
}

/** Waits for an event; errors that come later are told by whatever waits then. */
async function settled(socket: Socket, event: string): Promise<void> {
  socket.on('error', () => undefined)
  try {
    await once(socket, event, { signal: AbortSignal.timeout(WAIT_MS) })
  } catch (error) {
    const isLate = (error as Error).name === 'AbortError'
    throw isLate ? new Error(`no answer within ${WAIT_MS / 1000} s`, { cause: error }) : error
  }
}

async function encrypt(trial: Trial): Promise<string> {
  const { settings, server, tcp } = trial
  const { host } = server
  // Untrusted ones are looked at too, to tell what is wrong with them; nothing is sent to them.
  trial.tls = connectTls({
    ...(tcp && { socket: tcp }),
    host,
    servername: isIP(host) === 0 ? host : '',
    secureContext: new Trust(settings.ca?.value).contextFor(host),
    rejectUnauthorized: false,
  })
  await settled(trial.tls, 'secureConnect')
  const facts = certificateFacts(trial.tls)
  if (trial.tls.authorized) return `${trial.tls.getProtocol() ?? 'TLS'}, ${facts}`
  const { message } = trial.tls.authorizationError
  throw new StepError(
    `the certificate is not trusted: ${message || String(trial.tls.authorizationError)}; ${facts}`,
    'Name its authority with --ca or ADIT_CA_FILE; that of a gateway is the file ca.pem in its data folder.',
  )
}

function certificateFacts(socket: TLSSocket): string {
  const certificate = socket.getPeerX509Certificate()
  if (!certificate) return 'no certificate'
  const days = Math.floor((certificate.validToDate.getTime() - Date.now()) / DAY_MS)
  const subject = certificate.subjectAltName ?? certificate.subject
  const issuer = certificate.issuer.replaceAll('\n', ', ')
  return `certificate for ${subject}, signed by ${issuer}, valid for ${days} more days`
}

async function ask(trial: Trial): Promise<string> {
  if (!trial.tls) throw new Error('there is no connection')
  trial.probe = new Probe(trial.tls, trial.server.text)
  const { region } = await trial.probe.gateway()
  return `a gateway answers, region ${region}`
}

async function signIn({ probe, settings }: Trial): Promise<string> {
  const { authtoken } = settings
  const advice =
    'Set ADIT_AUTHTOKEN to the token of an agent credential, or keep it with "adit config add-authtoken -".'
  if (authtoken === undefined || probe === undefined) throw new StepError('there is no authtoken', advice)
  try {
    const { session, version } = await probe.login({ authtoken: authtoken.value })
    return `signed in with the authtoken of ${authtoken.origin ?? 'the default'} as ${session}, gateway version ${version}`
  } catch (error) {
    if (error instanceof AgentError && error.code !== undefined)
      throw new StepError(`${error.message} (${error.code})`, advice)
    throw error
  }
}

async function beat({ probe }: Trial): Promise<string> {
  return `a heartbeat takes ${((await probe?.latency()) ?? 0).toFixed(1)} ms`
}
