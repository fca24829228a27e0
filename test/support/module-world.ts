import { createServer, type RequestListener } from 'node:http'
import { rootOf, visit, type Seen, type VisitOptions } from '../e2e/compat/agent-sdk/visits.ts'
import { Browser } from '../auth/providers/browser.ts'
import { ProviderServer } from '../auth/providers/provider-server.ts'
import { ann } from '../auth/providers/support.ts'
import { OpenIdProvider } from '../auth/oidc/openid-provider.ts'
import { authority, issueCertificate, type TestCertificate } from '../tls/test-certificates.ts'
import { startServer, type TestServer } from './server.ts'
import { Folder } from './folder.ts'
import { echo, listening } from './net.ts'

/** Longer than texts that are too short to compress. */
export const LONG_TEXT = 'as long as it is dull. '.repeat(200)

const answers: RequestListener = async (request, response) => {
  const body = (await request.toArray()).join('')
  if (request.url === '/long') response.setHeader('content-type', 'text/plain').end(LONG_TEXT)
  else if (request.url === '/broken') response.writeHead(500).end('broken')
  else response.end(JSON.stringify({ headers: request.headers, body }))
}

/**
 * A gateway with all that its modules need: providers to sign in at, clients with certificates, and two services to
 * put behind tunnels.
 */
export interface ModuleWorld extends AsyncDisposable {
  readonly server: TestServer
  readonly visit: (url: string, options?: VisitOptions) => Promise<Seen>
  /** At `/long` a long text, at `/broken` an error, anywhere else the request as JSON. */
  readonly webPort: number
  /** Echoes bytes, without HTTP. */
  readonly echoPort: number
  readonly issuer: string
  readonly folder: Folder
  readonly people: {
    readonly root: TestCertificate
    readonly ann: TestCertificate
    readonly stranger: TestCertificate
  }
}

export async function openModuleWorld(): Promise<ModuleWorld> {
  await using stack = new AsyncDisposableStack()
  const github = stack.use(await ProviderServer.start('github', ann))
  const server = stack.use(await startServer({ egress_allow: '127.0.0.0/8', oauth_github_url: github.url }))
  const callback = new Browser(server).at('idp.adit.localhost', '/oauth2/callback')
  github.callback = callback
  const { issuer } = stack.use(await OpenIdProvider.start(callback))
  const { port: webPort } = stack.use(await listening(createServer(answers)))
  const { port: echoPort } = stack.use(await echo())
  const folder = stack.use(new Folder())
  const root = await authority()
  const people = {
    root,
    ann: await issueCertificate({ name: 'Ann', issuer: root }),
    stranger: await issueCertificate({ name: 'Eve', issuer: await authority() }),
  }
  const ca = rootOf(server.dataDir)
  const parts = stack.move()
  return {
    server,
    visit: (url, options) => visit(url, { ca, ...options }),
    webPort,
    echoPort,
    issuer,
    folder,
    people,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}
