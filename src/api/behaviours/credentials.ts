import type { ResourceHooks } from '#api/resource-hooks.ts'
import { administers, remainingAdmin, type Role } from '#api/behaviours/last-admin.ts'
import type { Draft } from '#api/draft.ts'
import { withPkiProblems } from '#api/pki-problems.ts'
import { fail } from '#base/errors.ts'
import { parseHostPort } from '#base/hosts.ts'
import { nameFault } from '#base/name-fault.ts'
import { newToken } from '#base/ids.ts'
import { tokenHash } from '#base/secrets.ts'
import { apiKey as apiKeyKind } from '#contract/kinds/api-key.ts'
import { credential as credentialKind } from '#contract/kinds/credential.ts'
import { sshCredential as sshKind } from '#contract/kinds/ssh-credential.ts'
import { readSshPublicKey } from '#pki/ssh-key.ts'

/** Claims of token hashes; a token is recognised by looking up its claim. */
export const API_TOKENS = 'api_token'
export const AGENT_TOKENS = 'agent_token'
const SSH_KEYS = 'ssh_key'

/** Creates the token of a new resource, shown once; its hash is stored and claimed. */
function settleToken(draft: Draft, body: { token_hash: string }, namespace: string): void {
  if (!draft.before) {
    const token = newToken(draft.id)
    body.token_hash = tokenHash(token)
    draft.revealed['token'] = token
  }
  draft.claim(namespace, body.token_hash, { field: 'token' })
}

const LABEL = /^[^=\s]+=[^=\s]*$/

function isAclRule(rule: string): boolean {
  if (rule === '*') return true
  if (!rule.startsWith('bind:')) return false
  const target = rule.slice('bind:'.length)
  if (target.includes('=')) return LABEL.test(target)
  const host = parseHostPort(target)
  if (host) return host.port >= 1 && host.port <= 65_535
  return target !== '' && nameFault(target.toLowerCase()) === undefined
}

function checkAcl(rules: readonly string[]): void {
  const bad = rules.find(rule => !isAclRule(rule))
  if (bad !== undefined) fail('bad_acl', { field: 'acl', rule: bad })
}

export const apiKey: ResourceHooks = {
  prepare(draft) {
    const body = draft.as(apiKeyKind)
    settleToken(draft, body, API_TOKENS)
  },
  async remove({ row }, call) {
    const owner = row.parent === null ? undefined : await call.store.get(row.parent)
    if (!owner || !administers(JSON.parse(owner.body) as Role)) return []
    return (await remainingAdmin({ withoutKey: row.id }, call)) ?? fail('last_admin_key')
  },
}

export const credential: ResourceHooks = {
  prepare(draft) {
    const body = draft.as(credentialKind)
    checkAcl(body.acl)
    settleToken(draft, body, AGENT_TOKENS)
  },
}

export const sshCredential: ResourceHooks = {
  prepare(draft) {
    const body = draft.as(sshKind)
    checkAcl(body.acl)
    const key = withPkiProblems('public_key', () => readSshPublicKey(body.public_key), {
      bad_public_key: 'ssh_key_bad',
    })
    body.public_key = key.line
    // Anyone can register a public key, so one owner's key must not prevent another one from registering it.
    draft.claim(SSH_KEYS, `${body.owner_id} ${key.fingerprint}`, {
      refusal: 'ssh_key_taken',
      field: 'public_key',
    })
  },
}
