import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { connect } from 'node:tls'
import { hostHere } from '#base/listen-on.ts'
import { machineAddresses } from '#base/machine-addresses.ts'
import { variableOf } from '#base/read-settings.ts'
import type { AddressSetting } from '#base/setting-values.ts'
import type { Settings } from '#base/settings.ts'
import { isLocalName } from '#domains/domain-advice.ts'
import { ok, problem, reasonOf, warning, type CheckResult } from '#server/doctor/finding.ts'

const listeners = ['api_addr', 'http_addr', 'https_addr', 'agent_addr', 'ssh_addr'] as const
const WAIT_MS = 5000
const DAY_MS = 86_400_000
const SOON_DAYS = 14

/** Whether the listeners can be opened; those of a running server are. */
export async function ports(settings: Settings, isRunning: boolean): Promise<CheckResult[]> {
  const findings: CheckResult[] = []
  for (const name of listeners) {
    const address = settings[name]
    if (address !== undefined) findings.push(await port(variableOf(name), address, isRunning))
  }
  return findings
}

async function port(
  variable: string,
  { host, port: number }: AddressSetting,
  isRunning: boolean,
): Promise<CheckResult> {
  if (number === 0) return ok(`port of ${variable}`, `${host}: one that is free is chosen at each start`)
  const check = `port ${number}`
  const server = createServer()
  try {
    server.listen(number, host)
    await once(server, 'listening')
    const free = `${host}:${number} is free (${variable})`
    return isRunning
      ? warning(
          check,
          `${free}, although the server runs`,
          'It was started with other settings: use the same here.',
        )
      : ok(check, free)
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === 'EADDRINUSE' && isRunning) return ok(check, `${host}:${number} is open (${variable})`)
    return problem(
      check,
      `${host}:${number} cannot be opened (${variable}, ${reason})`,
      fixes[reason] ?? OTHER,
    )
  } finally {
    server.close()
  }
}

const OTHER = 'Choose another address.'
const fixes: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Another program uses it: stop that (ss -ltnp shows it), or choose another port.',
  EACCES: 'Ports below 1024 need a right: AmbientCapabilities=CAP_NET_BIND_SERVICE in the systemd unit.',
  EADDRNOTAVAIL: 'This machine does not have that address: choose one of its own, or 0.0.0.0.',
}

/** The certificate that the HTTPS listener presents for the shared domain. */
export async function certificate(
  { https_addr: https, domain }: Settings,
  isRunning: boolean,
): Promise<CheckResult> {
  const check = 'certificate'
  if (https === undefined) return ok(check, 'HTTPS is off')
  if (https.port === 0) return ok(check, 'not checked: the port is chosen at each start')
  const socket = connect({
    host: hostHere(https),
    port: https.port,
    servername: domain,
    // It is reported, and not trusted.
    rejectUnauthorized: false,
  })
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(WAIT_MS) })
    const shown = socket.getPeerX509Certificate()
    if (shown === undefined) return problem(check, 'none is presented', 'Another program may listen there.')
    const days = Math.floor((shown.validToDate.getTime() - Date.now()) / DAY_MS)
    const date = shown.validToDate.toISOString().slice(0, 10)
    const fix = 'See "adit status" for the reason why it is not renewed, and check the clock.'
    if (days < 0) return problem(check, `that of ${domain} expired on ${date}`, fix)
    return days < SOON_DAYS
      ? warning(check, `that of ${domain} expires on ${date}`, fix)
      : ok(check, `that of ${domain} is valid until ${date}`)
  } catch (error) {
    return reasonOf(error) === 'ECONNREFUSED'
      ? ok(check, `not checked: ${isRunning ? 'the server listens elsewhere' : 'the server does not run'}`)
      : problem(
          check,
          `no TLS at ${https.host}:${https.port} (${reasonOf(error)})`,
          'Another program may listen there.',
        )
  } finally {
    socket.destroy()
  }
}

/** Whether names below the shared domain point to this machine. */
export async function dns({ domain, public_addresses: told }: Settings): Promise<CheckResult> {
  if (isLocalName(domain)) return ok('dns', `${domain} is a local name`)
  const name = `adit-doctor.${domain}`
  const own = [...(told ?? []), ...machineAddresses()]
  const fix = `Set an A or AAAA record for *.${domain} that names this machine, or delegate ${domain} to it.`
  try {
    const found = (await lookup(name, { all: true })).map(({ address }) => address)
    if (found.some(address => own.includes(address))) return ok('dns', `*.${domain} is ${found.join(', ')}`)
    const behind = `${fix} Behind NAT, set ADIT_PUBLIC_ADDRESSES to the public address.`
    return warning('dns', `*.${domain} is ${found.join(', ')}, which this machine does not have`, behind)
  } catch (error) {
    return problem('dns', `*.${domain} has no address (${reasonOf(error)})`, fix)
  }
}
