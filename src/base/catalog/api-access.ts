import type { CatalogEntry } from '#base/catalog/entry.ts'

/** Authentication, roles and restrictions of the API and the dashboard. */
export const apiAccessErrors = {
  no_authorization: {
    number: 200,
    status: 401,
    text: 'This request needs an API key: send the header "Authorization: Bearer <API key>".',
  },
  bad_authorization: {
    number: 201,
    status: 401,
    text: 'The Authorization header must have the form "Bearer <API key>".',
  },
  bad_token: {
    number: 202,
    status: 401,
    text: 'The API key is malformed. Copy the whole token from the response that created the key.',
  },
  unknown_token: {
    number: 203,
    status: 401,
    text: 'No API key has this token. It may have been deleted; create a new one with POST /api_keys.',
  },
  session_invalid: {
    number: 90450,
    status: 401,
    text: 'The dashboard session has ended. Sign in again.',
  },
  link_invalid: {
    number: 90451,
    status: 401,
    text: 'This sign-in link was used already, has expired or is incomplete. Get another one with "adit dashboard".',
  },
  csrf_token: {
    number: 90452,
    status: 403,
    text: 'With a session cookie, this request needs the header "x-csrf-token" with the csrf_token of GET /dashboard/session.',
  },
  foreign_origin: {
    number: 90453,
    status: 403,
    text: 'The request was sent by a page of another origin. With a session cookie, only pages of the dashboard may send requests.',
  },
  link_not_user: {
    number: 90454,
    status: 403,
    text: 'Only the API key of an admin can make a sign-in link. Members sign in with their password.',
  },
  sign_in_rejected: {
    number: 90456,
    status: 401,
    text: 'The e-mail address or the password is wrong.',
  },
  sign_in_blocked: {
    number: 90457,
    status: 429,
    text: 'There were too many wrong passwords. Try again in {retryAfter} seconds, or get a sign-in link from an admin.',
  },
  passwords_busy: {
    number: 90458,
    status: 503,
    text: 'Too many passwords are being checked. Try again in {retryAfter} seconds.',
  },
  password_weak: {
    number: 90459,
    status: 400,
    text: 'The password {reason}. Choose a longer one, such as several unrelated words.',
  },
  password_long: {
    number: 90530,
    status: 400,
    text: 'The password has more than {limit} characters.',
  },
  password_wrong: {
    number: 90460,
    status: 403,
    text: 'The current password is wrong.',
  },
  invitation_invalid: {
    number: 90461,
    status: 401,
    text: 'This invitation was used already, has expired or is incomplete. Ask an admin for another one.',
  },
  invitation_admin: {
    number: 90462,
    status: 403,
    text: 'Only admins can invite users.',
  },
  invitation_inactive: {
    number: 90463,
    status: 400,
    text: 'The user {id} is not active. Set "active" to true first.',
  },
  openid_state: {
    number: 90464,
    status: 400,
    text: 'This sign-in was started in another browser, or more than 10 minutes ago. Start it again.',
  },
  openid_no_role: {
    number: 90465,
    status: 403,
    text: 'None of your groups may use the dashboard. An operator can add one to dashboard_openid_roles.',
  },
  openid_off: {
    number: 90466,
    status: 404,
    text: 'This server has no OpenID provider for the dashboard. An operator can set dashboard_openid_issuer.',
  },
  authtoken_given: {
    number: 206,
    status: 401,
    text: 'This is the token of an agent credential. The management API needs the token of an API key.',
  },
  key_id_given: {
    number: 208,
    status: 401,
    text: 'This is the id of an API key. Send its token, which is shown once when the key is created.',
  },
  not_allowed: { number: 630, status: 403, text: 'Only an admin may {action}.' },
  not_owner: {
    number: 90251,
    status: 403,
    text: 'This {what} belongs to another owner. Only its owner and admins may change it: ask one of them, or have them share it by setting "owner_id" to null.',
  },
  use_not_allowed: {
    number: 90252,
    status: 403,
    text: '"{field}": "{value}" belongs to another owner. Use one of your own, or have it shared: its owner or an admin can set its "owner_id" to null.',
  },
  owner_inactive: {
    number: 636,
    status: 403,
    text: 'The owner of this API key, {owner}, is not active. An admin can set "active" to true.',
  },
  ip_not_allowed: {
    number: 220,
    status: 403,
    text: 'An IP restriction of type "api" does not allow requests from {ip}.',
  },
  dashboard_ip_not_allowed: {
    number: 90455,
    status: 403,
    text: 'An IP restriction of type "dashboard" does not allow requests from {ip}.',
  },
  would_lock_out: {
    number: 90001,
    status: 400,
    text: 'This change would lock out your own address, {ip}. Add a rule that allows it first, or set "enforced" to false.',
  },
  would_lock_out_loopback: {
    number: 90253,
    status: 400,
    text: 'With this change the enforced IP restriction of type "api" would deny {ip}, the way back in when all other addresses are locked out. Add a rule that allows {ip}/32 first, or set "enforced" to false.',
  },
  passkey_rejected: {
    number: 90521,
    status: 401,
    text: 'This passkey cannot sign in here ({reason}). Sign in in another way, and add it again if that persists.',
  },
  passkey_invalid: {
    number: 90522,
    status: 400,
    text: 'The passkey cannot be added: {reason}.',
  },
  passkey_host: {
    number: 90523,
    status: 400,
    text: 'Passkeys need HTTPS or localhost, and a host name: open the dashboard at such a URL.',
  },
  passkey_limit: {
    number: 90524,
    status: 400,
    text: 'You have {limit} passkeys, which is the most. Delete one first.',
  },
} as const satisfies Record<string, CatalogEntry>
