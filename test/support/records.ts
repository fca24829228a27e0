import type { HttpClientConnection } from '#http/exchange.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import type { SessionRecord, TunnelRecord } from '#registry/directory.ts'
import { defaultOptions, type BindOptions } from '#tunnel/messages.ts'

/** An Adit agent's session record, with overrides. */
export const sessionRecord = (more: Partial<SessionRecord> = {}): SessionRecord => ({
  id: 'ts_1',
  node: 'here',
  credentialId: 'cr_1',
  agentVersion: '1',
  userAgent: 'adit/1',
  ip: '127.0.0.1',
  localIp: '127.0.0.1',
  serverName: undefined,
  metadata: '',
  os: 'linux',
  arch: 'x64',
  region: 'test',
  startedAt: '2026-01-01T00:00:00Z',
  transport: 'adit/v2',
  ...more,
})

/** An HTTP tunnel's record, with overrides. */
export const tunnelRecord = (
  more: Partial<TunnelRecord> = {},
  options: Partial<BindOptions> = {},
): TunnelRecord => ({
  id: 'tn_1',
  sessionId: 'ts_1',
  ownerId: 'usr_1',
  node: 'here',
  address: { scheme: 'http', host: 'app.test' },
  url: 'http://app.test',
  labels: {},
  forwardsTo: 'http://localhost:8080',
  forwardsProto: 'http1',
  metadata: '',
  startedAt: '2026-01-01T00:00:00Z',
  domainId: undefined,
  addrId: undefined,
  pooling: false,
  options: { ...defaultOptions, ...options },
  ...more,
})

/** A request without content for a path, which may have a query. */
export const requestHead = (target = '/', more: Partial<RequestHead> = {}): RequestHead => ({
  method: 'GET',
  target,
  path: target.split('?')[0] ?? target,
  host: 'app.test',
  authority: 'app.test',
  version: '1.1',
  keepAlive: true,
  upgrade: '',
  expectsContinue: false,
  framing: { kind: 'none' },
  fields: Fields.none,
  ...more,
})

/** A client that came without TLS. */
export const httpClient = (more: Partial<HttpClientConnection> = {}): HttpClientConnection => ({
  ip: '203.0.113.7',
  port: 50_000,
  localIp: '127.0.0.1',
  localPort: 80,
  scheme: 'http',
  serverName: undefined,
  ...more,
})
