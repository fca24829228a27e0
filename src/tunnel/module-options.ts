import { list, secretLine, share, text, yesNo } from '#base/value-forms.ts'
import { mainPart, named, option, web } from '#tunnel/tunnel-option.ts'

const emailList = list('address', 'a list of e-mail addresses', item => /^[^@\s]+@[^@\s]+$/.test(item))
const domainList = list('domain', 'a list of domains')
const scopeList = list('scope', 'a list of scopes')
const patterns = list('regex', 'a list of regular expressions')

/** Tunnel options that the gateway's modules implement. */
export const moduleOptions = {
  compression: option({
    form: yesNo,
    doc: 'Compress responses for clients that accept it.',
    kinds: web,
    module: 'Compression',
  }),
  circuit_breaker: option({
    form: share,
    doc: 'Error rate, from 0 to 1, at which requests to the service are stopped for a while.',
    kinds: web,
    module: 'CircuitBreaker.error_threshold',
  }),
  'oauth.provider': mainPart({
    form: text('provider', 'a provider such as google'),
    doc: 'Require sign-in with this provider, such as google or github.',
    kinds: web,
    main: 'a provider',
    module: 'OAuth.provider',
    flag: '--oauth',
  }),
  'oauth.allow_emails': option({
    form: emailList,
    doc: 'Allow only these email addresses. Repeatable.',
    kinds: web,
    module: 'OAuth.allow_emails',
    flag: '--oauth-allow-email',
  }),
  'oauth.allow_domains': option({
    form: domainList,
    doc: 'Allow only email addresses of these domains. Repeatable.',
    kinds: web,
    module: 'OAuth.allow_domains',
    flag: '--oauth-allow-domain',
  }),
  'oauth.scopes': option({
    form: scopeList,
    doc: 'Scope to request, with your own application. Repeatable.',
    kinds: web,
    module: 'OAuth.scopes',
    flag: '--oauth-scope',
  }),
  'oauth.client_id': option({
    form: text('id'),
    doc: 'Client id of your own application; by default that of the gateway.',
    kinds: web,
    module: 'OAuth.client_id',
    flag: '--oauth-client-id',
  }),
  'oauth.client_secret': option({
    form: secretLine,
    doc: 'File with the client secret of that application.',
    kinds: web,
    module: 'OAuth.client_secret',
    flag: '--oauth-client-secret-file',
    secret: true,
    variable: { name: 'ADIT_OAUTH_CLIENT_SECRET', needs: 'oauth.client_id' },
  }),
  'oidc.issuer_url': mainPart({
    form: text('url', 'a URL such as https://login.example.com'),
    doc: 'Require sign-in with this OpenID provider.',
    kinds: web,
    main: 'an issuer',
    module: 'OIDC.issuer_url',
    flag: '--oidc',
  }),
  'oidc.client_id': option({
    form: text('id'),
    doc: 'Client id of your application at the OpenID provider.',
    kinds: web,
    module: 'OIDC.client_id',
    flag: '--oidc-client-id',
  }),
  'oidc.client_secret': option({
    form: secretLine,
    doc: 'File with the client secret of that application.',
    kinds: web,
    module: 'OIDC.client_secret',
    flag: '--oidc-client-secret-file',
    secret: true,
    variable: { name: 'ADIT_OIDC_CLIENT_SECRET', needs: 'oidc.issuer_url' },
  }),
  'oidc.scopes': option({
    form: scopeList,
    doc: 'Scope to request. Repeatable.',
    kinds: web,
    module: 'OIDC.scopes',
    flag: '--oidc-scope',
  }),
  'oidc.allow_emails': option({
    form: emailList,
    doc: 'Allow only these email addresses. Repeatable.',
    kinds: web,
    module: 'OIDC.allow_emails',
    flag: '--oidc-allow-email',
  }),
  'oidc.allow_domains': option({
    form: domainList,
    doc: 'Allow only email addresses of these domains. Repeatable.',
    kinds: web,
    module: 'OIDC.allow_domains',
    flag: '--oidc-allow-domain',
  }),
  'verify_webhook.provider': mainPart({
    form: text('sender', 'a sender such as github'),
    doc: 'Accept only webhooks signed by this sender, such as github or stripe.',
    kinds: web,
    main: 'a provider',
    module: 'WebhookVerification.provider',
    flag: '--verify-webhook',
  }),
  'verify_webhook.secret': option({
    form: secretLine,
    doc: 'File with the signing secret of the webhook sender.',
    kinds: web,
    module: 'WebhookVerification.secret',
    flag: '--verify-webhook-secret-file',
    secret: true,
    variable: { name: 'ADIT_VERIFY_WEBHOOK_SECRET', needs: 'verify_webhook.provider' },
  }),
  'user_agent_filter.allow': option({
    form: patterns,
    doc: 'Allow clients whose User-Agent matches, even if a deny pattern matches. Repeatable.',
    kinds: web,
    module: 'UserAgentFilter.allow',
    flag: '--ua-allow',
    aliases: ['--ua-filter-allow'],
  }),
  'user_agent_filter.deny': option({
    form: patterns,
    doc: 'Deny clients whose User-Agent matches. Repeatable.',
    kinds: web,
    module: 'UserAgentFilter.deny',
    flag: '--ua-deny',
    aliases: ['--ua-filter-deny'],
  }),
  mutual_tls_cas: option({
    form: text('file', 'the path of a file'),
    doc: 'Require client certificates from one of the CAs in this file.',
    kinds: named,
    module: 'MutualTLSCA.mutual_tls_ca',
    // Without TLS at the gateway there are no client certificates.
    protos: ['https'],
    flag: '--mutual-tls-ca',
    aliases: ['--mutual-tls-cas'],
  }),
  websocket_tcp_converter: option({
    form: yesNo,
    doc: 'Accept WebSocket connections and forward the content of their messages over TCP.',
    kinds: web,
    module: 'WebsocketTCPConverter',
  }),
}
