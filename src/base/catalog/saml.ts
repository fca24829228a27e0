import type { CatalogEntry } from '#base/catalog/entry.ts'

/** SAML messages. */
export const samlErrors = {
  saml_unasked_config: {
    number: 5302,
    status: 403,
    text: 'The identity provider started this sign-in, which the endpoint configuration {id} does not allow.',
  },
  saml_relay_state: {
    number: 5306,
    status: 400,
    text: 'The RelayState of the sign-in was not issued here.',
  },
  saml_target_config: {
    number: 5307,
    status: 400,
    text: 'The RelayState points to "{target}", a host that does not have the endpoint configuration {id}.',
  },
  saml_statements: {
    number: 5311,
    status: 403,
    text: "The identity provider's assertion must have exactly one AuthnStatement.",
  },
  saml_group: {
    number: 5312,
    status: 403,
    text: 'You are signed in, but you are not in an allowed group.',
  },
  saml_late: {
    number: 5315,
    status: 400,
    text: 'The sign-in has expired or was already finished.',
  },
  saml_unasked_route: {
    number: 5317,
    status: 403,
    text: 'The identity provider started this sign-in, which the route {id} does not allow.',
  },
  saml_target_missing: {
    number: 5321,
    status: 400,
    text: 'The identity provider started this sign-in, and its RelayState is not a valid target. It must be an https URL of the site or a path that begins with "/"; without one, the site needs a host that is not a wildcard.',
  },
  saml_target_edge: {
    number: 5322,
    status: 400,
    text: 'The RelayState points to "{target}", a host that is not one of the edge {id}.',
  },
  saml_off: { number: 5323, status: 404, text: 'No endpoint with the id "{id}" uses SAML.' },
  saml_unreadable: {
    number: 90140,
    status: 400,
    text: "The identity provider's message is invalid: {reason}.",
  },
  saml_signature: {
    number: 90141,
    status: 403,
    text: "The identity provider's message cannot be trusted: {reason}.",
  },
  saml_not_for_us: {
    number: 90142,
    status: 403,
    text: "The identity provider's message is not for this site: {reason}.",
  },
  saml_expired: {
    number: 90143,
    status: 403,
    text: "The identity provider's message is expired or not yet valid: {reason}.",
  },
  saml_replayed: {
    number: 90144,
    status: 403,
    text: 'This assertion was already used.',
  },
  saml_encrypted: {
    number: 90145,
    status: 400,
    text: "The identity provider's message is encrypted, which is not supported.",
  },
  saml_refused: {
    number: 90146,
    status: 403,
    text: 'The identity provider did not sign you in: its response was "{status}".',
  },
  saml_nameid_differs: {
    number: 90147,
    status: 403,
    text: 'The identity provider sent a NameID of the format "{format}"; expected is "{wanted}".',
  },
  saml_other_request: {
    number: 90148,
    status: 403,
    text: "The identity provider's response belongs to another sign-in than the one started in this browser.",
  },
  saml_method: { number: 90149, status: 405, text: 'Method not allowed for SAML messages.' },
} as const satisfies Record<string, CatalogEntry>
