import assert from 'node:assert/strict'
import type { Answer, Caller, TestServer } from '../../support/server.ts'
import { agentAt } from './agent-online.ts'
import { newSshKey } from '../../support/openssh.ts'
import { AUTHORITY, issue, type Identity } from '../../support/openssl.ts'
import { Folder } from '../../support/folder.ts'

/** What the scenarios need to be there before them, made with plain requests. */
export interface World {
  readonly api: Caller
  readonly policies: readonly [string, string]
  readonly backends: readonly [string, string]
  readonly authority: Identity
  readonly authorityId: string
  readonly certificate: Identity
  readonly certificateId: string
  readonly sshKey: string
  readonly sshAuthorityId: string
  readonly botId: string
  /** What is online. */
  readonly agent: Awaited<ReturnType<typeof agentAt>>
  /** A Ref as the client hands it out. */
  readonly ref: (path: string, id: string) => { id: string; uri: string }
  readonly make: (path: string, body?: object) => Promise<Answer['body']>
}

export async function newWorld(server: TestServer): Promise<World> {
  const { api } = server
  using folder = new Folder()
  const make = async (path: string, body: object = {}): Promise<Answer['body']> => {
    const answer = await api.post(path, body)
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    return answer.body
  }
  const idOf = async (path: string, body: object = {}): Promise<string> => (await make(path, body)).id
  const authority = await issue(folder, { name: 'Compat CA', extensions: AUTHORITY })
  const certificate = await issue(folder, {
    name: 'www.compat.example',
    extensions: ['basicConstraints=critical,CA:FALSE', 'subjectAltName=DNS:www.compat.example'],
  })
  return {
    api,
    make,
    ref: (path, id) => ({ id, uri: `${api.url}${path}/${id}` }),
    policies: [await idOf('/ip_policies'), await idOf('/ip_policies')],
    backends: [await idOf('/backends/http_response'), await idOf('/backends/http_response')],
    authority,
    authorityId: await idOf('/certificate_authorities', { ca_pem: authority.certificate }),
    certificate,
    certificateId: await idOf('/tls_certificates', {
      certificate_pem: certificate.certificate,
      private_key_pem: certificate.key,
    }),
    sshKey: await newSshKey(folder, 'compat', 'ed25519'),
    sshAuthorityId: await idOf('/ssh_certificate_authorities'),
    botId: await idOf('/bot_users', { name: 'Compat bot' }),
    agent: await agentAt(server),
  }
}
