import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import * as samlify from 'samlify'
import type { Identity } from '../../support/openssl.ts'

// It may check messages against the schemas of SAML; what is checked here is our side.
samlify.setSchemaValidator({ validate: async () => 'not checked' })

interface Account {
  readonly id: string
  readonly email: string
  readonly groups: readonly string[]
}

const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'
const BINDINGS = 'urn:oasis:names:tc:SAML:2.0:bindings'

/** samlify's own template has no AuthnStatement. */
const TEMPLATE =
  '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ' +
  'ID="{ID}" Version="2.0" IssueInstant="{Now}" Destination="{Acs}" InResponseTo="{Request}"><saml:Issuer>{Issuer}</saml:Issuer>' +
  '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>' +
  '<saml:Assertion xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ' +
  'ID="{AssertionID}" Version="2.0" IssueInstant="{Now}"><saml:Issuer>{Issuer}</saml:Issuer><saml:Subject>' +
  `<saml:NameID Format="${PERSISTENT}">{NameID}</saml:NameID>` +
  '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData ' +
  'NotOnOrAfter="{Later}" Recipient="{Acs}" InResponseTo="{Request}"/></saml:SubjectConfirmation></saml:Subject>' +
  '<saml:Conditions NotBefore="{Now}" NotOnOrAfter="{Later}"><saml:AudienceRestriction><saml:Audience>{Audience}' +
  '</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AuthnStatement AuthnInstant="{Now}" SessionIndex="s1">' +
  '<saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport' +
  '</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement><saml:AttributeStatement>' +
  '<saml:Attribute Name="email"><saml:AttributeValue xsi:type="xs:string">{Email}</saml:AttributeValue></saml:Attribute>' +
  '<saml:Attribute Name="groups"><saml:AttributeValue xsi:type="xs:string">{Group}</saml:AttributeValue></saml:Attribute>' +
  '</saml:AttributeStatement></saml:Assertion></samlp:Response>'

/** An identity provider of samlify, on a port of this machine; every browser is signed in to its account. */
export class Provider implements AsyncDisposable {
  account: Account = { id: 'u-1', email: 'anna@example.test', groups: ['staff'] }
  readonly metadata: string
  readonly #server: Server
  readonly #idp: samlify.IdentityProviderInstance
  #service: samlify.ServiceProviderInstance | undefined

  private constructor(server: Server, keys: Identity) {
    this.#server = server
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    this.#idp = samlify.IdentityProvider({
      entityID: `${url}/metadata`,
      privateKey: keys.key,
      signingCert: keys.certificate,
      isAssertionEncrypted: false,
      wantAuthnRequestsSigned: true,
      wantLogoutResponseSigned: true,
      nameIDFormat: [PERSISTENT],
      requestSignatureAlgorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
      singleSignOnService: [{ Binding: `${BINDINGS}:HTTP-Redirect`, Location: `${url}/sso` }],
      singleLogoutService: [{ Binding: `${BINDINGS}:HTTP-Redirect`, Location: `${url}/slo` }],
      loginResponseTemplate: { context: TEMPLATE, attributes: [] },
    })
    this.metadata = this.#idp.getMetadata()
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
    })
  }

  static async start(keys: Identity): Promise<Provider> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Provider(server, keys)
  }

  /** Learns of a service by its metadata. */
  learn(metadata: string): void {
    this.#service = samlify.ServiceProvider({ metadata, wantLogoutRequestSigned: true })
  }

  get #known(): samlify.ServiceProviderInstance {
    if (this.#service === undefined) throw new Error('no service is known')
    return this.#service
  }

  /** The form that a browser sends to the service; `request` is the id of the answered request, if any. */
  async form(request: string, relayState: string): Promise<string> {
    const { id, email, groups } = this.account
    const acs = String(this.#known.entityMeta.getAssertionConsumerService('post'))
    const tags = {
      ID: `_${crypto.randomUUID()}`,
      AssertionID: `_${crypto.randomUUID()}`,
      Now: new Date().toISOString(),
      Later: new Date(Date.now() + 300_000).toISOString(),
      Acs: acs,
      Audience: this.#known.entityMeta.getEntityID(),
      Issuer: this.#idp.entityMeta.getEntityID(),
      Request: request,
      NameID: id,
      Email: email,
      Group: groups[0],
    }
    const fill = (template: string) => ({
      id: tags.ID,
      context: samlify.SamlLib.replaceTagsByValue(template, tags),
    })
    const { context } = await this.#idp.createLoginResponse(
      this.#known,
      { extract: { request: { id: request } } },
      'post',
      { email },
      { customTagReplacement: fill },
    )
    return (
      `<form method="post" action="${acs}"><input type="hidden" name="SAMLResponse" value="${context}">` +
      `<input type="hidden" name="RelayState" value="${relayState}"></form>`
    )
  }

  /** Where a browser is sent to sign out everywhere. */
  signOutUrl(): string {
    const { context } = this.#idp.createLogoutRequest(this.#known, 'redirect', {
      logoutNameID: this.account.id,
    })
    return context
  }

  /** Whether an answer to a sign-out is the service's and good. */
  async parseSignOut(url: string): Promise<string | undefined> {
    const { searchParams, search } = new URL(url)
    const [octetString = ''] = search.slice(1).split('&Signature=')
    const query = Object.fromEntries(searchParams)
    const { extract } = await this.#idp.parseLogoutResponse(this.#known, 'redirect', { query, octetString })
    return String((extract['response'] as Record<string, string>)['inResponseTo'])
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams, search } = new URL(request.url ?? '', 'http://localhost')
    if (pathname !== '/sso') return void response.writeHead(404).end()
    const [octetString = ''] = search.slice(1).split('&Signature=')
    const isForm = request.method === 'POST'
    const given = Object.fromEntries(isForm ? new URLSearchParams(await text(request)) : searchParams)
    // It checks our signature.
    const { extract } = isForm
      ? await this.#idp.parseLoginRequest(this.#known, 'post', { body: given })
      : await this.#idp.parseLoginRequest(this.#known, 'redirect', { query: given, octetString })
    const { id } = extract.request as Record<string, string>
    response.setHeader('content-type', 'text/html')
    response.end(await this.form(String(id), given['RelayState'] ?? ''))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
