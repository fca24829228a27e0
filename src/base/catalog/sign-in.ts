import type { CatalogEntry } from '#base/catalog/entry.ts'

/** Sign-in at endpoints, by OAuth and OpenID Connect. */
export const signInErrors = {
  sign_in_required: {
    number: 90110,
    status: 401,
    text: '{host} requires sign-in, and this request has no session.',
  },
  sign_in_state: {
    number: 3106,
    status: 400,
    text: 'This sign-in link is invalid or has expired. Go back to the site and sign in again.',
  },
  sign_in_browser: {
    number: 3107,
    status: 400,
    text: 'This sign-in was started in another browser, was already finished, or the browser blocks cookies.',
  },
  sign_in_route: {
    number: 90490,
    status: 400,
    text: 'Several routes of {host} have sign-in. Name one of them in the address: ?route=ID.',
  },
  sign_in_changed: {
    number: 3120,
    status: 400,
    text: 'The sign-in configuration of this site changed during your sign-in.',
  },
  sign_in_refused: {
    number: 3112,
    status: 403,
    text: 'The identity provider did not sign you in: {reason}.',
  },
  sign_in_provider: {
    number: 90111,
    status: 502,
    text: 'The identity provider of this site cannot be used now: {reason}.',
  },
  sign_in_unverified: {
    number: 90112,
    status: 403,
    text: 'The response of the identity provider could not be verified: {reason}.',
  },
  sign_in_not_kept: {
    number: 90113,
    status: 503,
    text: 'Sign-in succeeded, but the session could not be saved.',
  },
  sign_in_unconfigured: {
    number: 90114,
    status: 503,
    text: 'The sign-in configuration of this site is invalid: {reason}.',
  },
  sign_in_nothing_here: {
    number: 90115,
    status: 404,
    text: 'This address only handles sign-in redirects.',
  },
  sign_in_elsewhere: {
    number: 90241,
    status: 403,
    text: 'The sign-in was started at {target}, which is offline or no longer requires this sign-in.',
  },
  sign_in_answer_long: {
    number: 90242,
    status: 502,
    text: 'The response of the identity provider is too long to be forwarded: it must fit into a URL of 8 KiB.',
  },
  sign_in_busy: {
    number: 90243,
    status: 503,
    text: 'Too many sign-ins from your network, or to this site, within the last hour.',
  },
  sign_in_https: {
    number: 90244,
    status: 403,
    text: '{host} requires sign-in, which needs HTTPS, but it is available over HTTP only.',
  },
  oauth_email_unverified: {
    number: 3104,
    status: 403,
    text: 'Your e-mail address is not verified at {provider}. Verify it there, then sign in again.',
  },
  oauth_not_allowed: {
    number: 3105,
    status: 403,
    text: 'Your {provider} account, {account}, is not allowed here.',
  },
  oauth_email_missing: {
    number: 3109,
    status: 403,
    text: '{provider} sent no e-mail address for your account, and one is required here.',
  },
  oauth_email_withheld: {
    number: 3110,
    status: 403,
    text: 'You did not allow {provider} to share your e-mail address, and it is required here.',
  },
  oauth_scopes_missing: {
    number: 3111,
    status: 403,
    text: 'A required permission was not granted at {provider}: {scopes} is missing.',
  },
  oauth_denied: { number: 90130, status: 403, text: 'You are not signed in at {provider}: {reason}.' },
  oauth_exchange: {
    number: 90131,
    status: 502,
    text: '{provider} refused to complete the sign-in: {reason}.',
  },
  oauth_provider: { number: 90132, status: 502, text: 'The request to {provider} failed: {reason}.' },
  oauth_session_over: {
    number: 90133,
    status: 403,
    text: 'Your session at {provider} has ended. Sign in again.',
  },
  oauth_application: {
    number: 90134,
    status: 503,
    text: 'The server has no managed application for {provider}: supply a client_id and a client_secret, or set {setting} there.',
  },
  oauth_open: {
    number: 90135,
    status: 503,
    text: 'The managed application for {provider} needs a list of allowed e-mail addresses or domains.',
  },
} as const satisfies Record<string, CatalogEntry>
