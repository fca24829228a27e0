import type { samlErrors } from '#base/catalog/saml.ts'
import { type Hint, SIGN_IN_AGAIN } from '#base/hints/hint.ts'

/** SAML messages. */
export const samlHints: Readonly<Record<keyof typeof samlErrors, Hint>> = {
  saml_unasked_config: {
    title: 'Start at the site itself',
    visitor: 'Open the address of the site, and sign in from there.',
    owner: 'allow_idp_initiated of the saml module allows the provider to start sign-ins.',
  },
  saml_relay_state: { title: 'Sign-in not recognised', visitor: SIGN_IN_AGAIN },
  saml_target_config: {
    title: 'No such site here',
    visitor: 'Open the address of the site, and sign in from there.',
    owner: 'Correct the RelayState (the default one, the start page) at the identity provider.',
  },
  saml_statements: {
    title: 'Not signed in',
    visitor: 'Contact the operator of this site.',
    owner: 'Check the assertions of the identity provider.',
  },
  saml_group: {
    title: 'Not allowed',
    visitor: 'Sign in with another account, or ask the operator of this site to allow your group.',
    owner:
      'Have the identity provider send the attribute "groups", and compare it with authorized_groups of the module.',
  },
  saml_late: { title: 'Sign in again', visitor: SIGN_IN_AGAIN },
  saml_unasked_route: {
    title: 'Start at the site itself',
    visitor: 'Open the address of the site, and sign in from there.',
    owner: 'allow_idp_initiated of the saml module allows the provider to start sign-ins.',
  },
  saml_target_missing: {
    title: 'Where to?',
    visitor: 'Open the address of the site, and sign in from there.',
    owner:
      'Set the RelayState (the default one, the start page) at the identity provider to an address or a path of the site.',
  },
  saml_target_edge: {
    title: 'No such site here',
    visitor: 'Open the address of the site, and sign in from there.',
    owner: 'Correct the RelayState (the default one, the start page) at the identity provider.',
  },
  saml_off: {
    title: 'No sign-in here',
    visitor: 'Go back to the site that you came from.',
    owner: 'Compare the addresses at the identity provider with those that the API shows in the saml module.',
  },
  saml_unreadable: {
    title: 'Not signed in',
    visitor: SIGN_IN_AGAIN,
    owner: 'Check the messages of the identity provider.',
  },
  saml_signature: {
    title: 'Not signed in',
    visitor: SIGN_IN_AGAIN,
    owner:
      'Put the current metadata of the identity provider into the module, and make it sign with RSA and SHA-256.',
  },
  saml_not_for_us: {
    title: 'Not signed in',
    visitor: SIGN_IN_AGAIN,
    owner: 'Compare the addresses at the identity provider with those that the API shows in the saml module.',
  },
  saml_expired: {
    title: 'Sign in again',
    visitor: SIGN_IN_AGAIN,
    owner: "If it happens to all users, compare both machines' clocks.",
  },
  saml_replayed: { title: 'Sign in again', visitor: SIGN_IN_AGAIN },
  saml_encrypted: {
    title: 'Not signed in',
    visitor: 'Contact the operator of this site.',
    owner: 'Turn off the encryption of assertions at the identity provider: TLS protects them in transit.',
  },
  saml_refused: {
    title: 'Not signed in',
    visitor: 'Sign in as another user, or contact the operator of the identity provider.',
  },
  saml_nameid_differs: {
    title: 'Not signed in',
    visitor: 'Contact the operator of this site.',
    owner: 'Set nameid_format of the module to the format that the identity provider sends.',
  },
  saml_other_request: { title: 'Sign-in not recognised', visitor: SIGN_IN_AGAIN },
  saml_method: { title: 'No page here', visitor: 'Go back to the site that you came from.' },
}
