import { list, secretLine, share, text, yesNo } from '#cli/agent/forms.ts'
import { named, option, web } from '#cli/agent/tunnel-option.ts'

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
    to: compression => ({ compression }),
  }),
  circuit_breaker: option({
    form: share,
    doc: 'Error rate, from 0 to 1, at which requests to the service are stopped for a while.',
    kinds: web,
    to: circuitBreaker => ({ circuitBreaker }),
  }),
  'oauth.provider': option({
    form: text('provider', 'a provider such as google'),
    doc: 'Require sign-in with this provider, such as google or github.',
    kinds: web,
    flag: '--oauth',
    to: provider => ({ oauth: { provider } }),
  }),
  'oauth.allow_emails': option({
    form: emailList,
    doc: 'Allow only these email addresses. Repeatable.',
    kinds: web,
    flag: '--oauth-allow-email',
    to: allowEmails => ({ oauth: { allowEmails } }),
  }),
  'oauth.allow_domains': option({
    form: domainList,
    doc: 'Allow only email addresses of these domains. Repeatable.',
    kinds: web,
    flag: '--oauth-allow-domain',
    to: allowDomains => ({ oauth: { allowDomains } }),
  }),
  'oauth.scopes': option({
    form: scopeList,
    doc: 'Scope to request, with your own application. Repeatable.',
    kinds: web,
    flag: '--oauth-scope',
    to: scopes => ({ oauth: { scopes } }),
  }),
  'oauth.client_id': option({
    form: text('id'),
    doc: 'Client id of your own application; by default that of the gateway.',
    kinds: web,
    flag: '--oauth-client-id',
    to: clientId => ({ oauth: { clientId } }),
  }),
  'oauth.client_secret': option({
    form: secretLine,
    doc: 'File with the client secret of that application.',
    kinds: web,
    flag: '--oauth-client-secret-file',
    secret: true,
    variable: {
      name: 'ADIT_OAUTH_CLIENT_SECRET',
      missingFrom: ({ oauth }) => oauth?.clientId !== undefined && oauth.clientSecret === undefined,
    },
    to: clientSecret => ({ oauth: { clientSecret } }),
  }),
  'oidc.issuer_url': option({
    form: text('url', 'a URL such as https://login.example.com'),
    doc: 'Require sign-in with this OpenID provider.',
    kinds: web,
    flag: '--oidc',
    to: issuerUrl => ({ oidc: { issuerUrl } }),
  }),
  'oidc.client_id': option({
    form: text('id'),
    doc: 'Client id of your application at the OpenID provider.',
    kinds: web,
    flag: '--oidc-client-id',
    to: clientId => ({ oidc: { clientId } }),
  }),
  'oidc.client_secret': option({
    form: secretLine,
    doc: 'File with the client secret of that application.',
    kinds: web,
    flag: '--oidc-client-secret-file',
    secret: true,
    variable: {
      name: 'ADIT_OIDC_CLIENT_SECRET',
      missingFrom: ({ oidc }) => oidc !== undefined && oidc.clientSecret === undefined,
    },
    to: clientSecret => ({ oidc: { clientSecret } }),
  }),
  'oidc.scopes': option({
    form: scopeList,
    doc: 'Scope to request. Repeatable.',
    kinds: web,
    flag: '--oidc-scope',
    to: scopes => ({ oidc: { scopes } }),
  }),
  'oidc.allow_emails': option({
    form: emailList,
    doc: 'Allow only these email addresses. Repeatable.',
    kinds: web,
    flag: '--oidc-allow-email',
    to: allowEmails => ({ oidc: { allowEmails } }),
  }),
  'oidc.allow_domains': option({
    form: domainList,
    doc: 'Allow only email addresses of these domains. Repeatable.',
    kinds: web,
    flag: '--oidc-allow-domain',
    to: allowDomains => ({ oidc: { allowDomains } }),
  }),
  'verify_webhook.provider': option({
    form: text('sender', 'a sender such as github'),
    doc: 'Accept only webhooks signed by this sender, such as github or stripe.',
    kinds: web,
    flag: '--verify-webhook',
    to: provider => ({ verifyWebhook: { provider } }),
  }),
  'verify_webhook.secret': option({
    form: secretLine,
    doc: 'File with the signing secret of the webhook sender.',
    kinds: web,
    flag: '--verify-webhook-secret-file',
    secret: true,
    variable: {
      name: 'ADIT_VERIFY_WEBHOOK_SECRET',
      missingFrom: ({ verifyWebhook }) => verifyWebhook !== undefined && verifyWebhook.secret === undefined,
    },
    to: secret => ({ verifyWebhook: { secret } }),
  }),
  'user_agent_filter.allow': option({
    form: patterns,
    doc: 'Allow clients whose User-Agent matches, even if a deny pattern matches. Repeatable.',
    kinds: web,
    flag: '--ua-allow',
    aliases: ['--ua-filter-allow'],
    to: allow => ({ userAgentFilter: { allow } }),
  }),
  'user_agent_filter.deny': option({
    form: patterns,
    doc: 'Deny clients whose User-Agent matches. Repeatable.',
    kinds: web,
    flag: '--ua-deny',
    aliases: ['--ua-filter-deny'],
    to: deny => ({ userAgentFilter: { deny } }),
  }),
  mutual_tls_cas: option({
    form: text('file', 'the path of a file'),
    doc: 'Require client certificates from one of the CAs in this file.',
    kinds: named,
    flag: '--mutual-tls-ca',
    aliases: ['--mutual-tls-cas'],
    to: mutualTlsCas => ({ mutualTlsCas }),
  }),
  websocket_tcp_converter: option({
    form: yesNo,
    doc: 'Accept WebSocket connections and forward the content of their messages over TCP.',
    kinds: web,
    to: websocketTcpConverter => ({ websocketTcpConverter }),
  }),
}
