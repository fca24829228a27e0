import type { CatalogEntry } from '#base/catalog/entry.ts'

/** API keys, credentials and users. */
export const ownerErrors = {
  bad_acl: {
    number: 600,
    status: 400,
    text: '"acl": "{rule}" is not a rule. Write "bind:<domain>", "bind:*.<domain>", "bind:<host>:<port>", "bind:<label>=<value>" or "*".',
  },
  credential_description: { number: 604, status: 400, text: '"{field}" may have at most 255 bytes.' },
  credential_metadata: { number: 605, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  ssh_key_taken: {
    number: 609,
    status: 400,
    conflict: true,
    text: '"public_key" is already registered, as {owner}.',
  },
  ssh_key_missing: {
    number: 611,
    status: 400,
    text: '"public_key" is required: one line as in ~/.ssh/id_ed25519.pub.',
  },
  ssh_key_bad: { number: 612, status: 400, text: '"public_key": {reason}' },
  owner_missing: { number: 634, status: 400, text: '"{field}": there is no user or bot with id "{id}".' },
  last_admin: {
    number: 90002,
    status: 400,
    text: 'This is the last active admin that has an API key; {action} it would leave no one to administer the server.',
  },
  last_admin_key: {
    number: 90254,
    status: 400,
    text: 'This is the last API key of an active admin; without it no one can administer the server. Create another one first.',
  },
  own_user: { number: 90003, status: 400, text: 'A user cannot delete itself. Ask another admin.' },
  user_name_taken: {
    number: 90004,
    status: 400,
    conflict: true,
    text: 'A user with the e-mail address "{value}" already exists: {owner}.',
  },
} as const satisfies Record<string, CatalogEntry>
