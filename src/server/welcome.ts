import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import type { Secret } from '#base/secrets.ts'
import type { Settings } from '#base/settings.ts'
import { linkUrl } from '#api/dashboard/links.ts'
import { commandName } from '#base/own-program.ts'
import { apiHost, dashboardHost } from '#base/own-names.ts'
import { httpsUrl } from '#domains/shared-domain.ts'
import { hostHere } from '#base/listen-on.ts'
import type { FirstSecrets } from '#server/first-start.ts'
import type { Running } from '#server/serve.ts'

interface Row {
  readonly label: string
  readonly value: string
  readonly note?: string
}

/** A short path for a person in the working folder. A service is started in the root folder, where no person is. */
export function shownPath(path: string, from = process.cwd()): string {
  const near = relative(from, path)
  return near.startsWith('..') || from === '/' ? resolve(path) : near || '.'
}

/** The start message. */
export function welcome(running: Running, settings: Settings): string {
  const { url, first, warnings } = running
  const file = (name: string) => join(shownPath(settings.data_dir), name)
  const api = settings.api_url ?? url
  // A configured key is known already, and output may be kept for long.
  const made = settings.api_key === undefined ? first?.apiKey : undefined
  const rows = [
    ...addresses(running, api),
    ...(settings.api_https ? [publicNames(settings, running)] : []),
    ...(api === undefined ? [] : [dashboard(api, first)]),
    ...apiKey(made, join(settings.data_dir, 'api-key'), file('api-key')),
  ]
  return [
    '',
    '  Adit is running.',
    '',
    ...rows.flatMap(({ label, value, note }) => [
      `  ${label.padEnd(12)} ${value}`,
      ...(note === undefined ? [] : [`  ${''.padEnd(12)} ${note}`]),
    ]),
    '',
    ...running.advice,
    ...tunnel(running, settings),
    ...(api !== undefined && first ? firstCall(api, file('api-key')) : []),
    '  Press Ctrl-C to stop.',
    '',
    ...warnings.map(warning => `  Note: ${warning}`),
    ...(warnings.length > 0 ? [''] : []),
    '',
  ].join('\n')
}

/** Later starts name the file: the first one may have failed after it was written, such as for a port in use. */
function apiKey(made: Secret | undefined, path: string, shown: string): Row[] {
  const label = 'API key'
  if (made) return [{ label, value: made.reveal(), note: `shown only once, stored in ${shown}` }]
  return existsSync(path) ? [{ label, value: `in ${shown}` }] : []
}

/** A link that works once and soon expires, so that output that is kept for long does no harm. */
const dashboard = (api: string, first: FirstSecrets | undefined): Row => ({
  label: 'Dashboard',
  ...(first === undefined
    ? { value: `${api}/dashboard`, note: `to sign in: ${commandName()} dashboard` }
    : {
        value: linkUrl(api, first.dashboardToken.reveal()),
        note: `signs in once within 15 minutes; later: ${commandName()} dashboard`,
      }),
})

/** Where the gateway serves the API and the dashboard. */
function publicNames(settings: Settings, { bound }: Running): Row {
  const at = (host: string): string => httpsUrl(host, settings, bound.https)
  const { domain } = settings
  return { label: 'Public names', value: `${at(apiHost(domain))}, ${at(dashboardHost(domain))}` }
}

function addresses({ bound, dns }: Running, api: string | undefined): Row[] {
  const shown = (name: keyof typeof bound): string => {
    const address = bound[name]
    return address ? `${address.host}:${address.port}` : 'off'
  }
  return [
    { label: 'API', value: api ?? 'off' },
    { label: 'Reference', value: api === undefined ? 'off' : `${api}/docs` },
    { label: 'Clients', value: `http ${shown('http')}, https ${shown('https')}` },
    { label: 'Agents', value: shown('agent') },
    ...(dns ? [{ label: 'DNS', value: `${dns.host}:${dns.port}, UDP and TCP` }] : []),
    { label: 'SSH', value: shown('ssh') },
  ]
}

/** The command that exposes a local port. */
function tunnel({ bound: { agent, http, https } }: Running, settings: Settings): string[] {
  if (agent === undefined || (http === undefined && https === undefined)) return []
  const scheme = https === undefined ? ' --scheme http' : http === undefined ? ' --scheme https' : ''
  const host = hostHere(agent)
  const variables = [
    ...(host === '127.0.0.1' && agent.port === 4443 ? [] : [`ADIT_SERVER_ADDR=${host}:${agent.port} `]),
    ...(settings.data_dir === './data' ? [] : [`ADIT_DATA_DIR=${shownPath(settings.data_dir)} `]),
  ].join('')
  return [
    '  Expose a local port, in another terminal:',
    '',
    `    ${variables}${commandName()} http 3000${scheme}`,
    '',
  ]
}

const firstCall = (api: string, keyFile: string): string[] => [
  '  First API call:',
  '',
  `    curl -H "Authorization: Bearer $(cat ${keyFile})" ${api}/self`,
  '',
]
