import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { suite, test } from 'node:test'
import { runCommand } from '../support/command-host.ts'

/** What bash offers after some words of a command line. */
async function offered(...words: string[]): Promise<string[]> {
  const { stdout } = await runCommand(['completion', 'bash'])
  const script = `${stdout}
COMP_WORDS=(${words.map(word => `'${word}'`).join(' ')})
COMP_CWORD=${words.length - 1}
_adit
printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', script]).toString().trim().split('\n')
}

suite('completion', () => {
  test('of bash offers commands, commands of the API and flags', async () => {
    assert.deepEqual(await offered('adit', 'ht'), ['http'])
    assert.ok((await offered('adit', 'api', 'ip-')).includes('ip-policies'))
    assert.deepEqual(await offered('adit', 'api', 'ip-policies', 'cre'), ['create'])
    assert.deepEqual(await offered('adit', 'http', '3000', '--basic'), ['--basic-auth'])
  })

  test('of zsh and fish name the same commands', async () => {
    const zsh = await runCommand(['completion', 'zsh'])
    assert.match(zsh.stdout, /^#compdef adit\n/)
    assert.match(zsh.stdout, /'adit api ip-policies'\) known=\('create:/)
    const fish = await runCommand(['completion', 'fish'])
    assert.match(fish.stdout, /complete -c adit -n '__adit_place adit' -a http -d '/)
  })

  test('of another shell is rejected with those that there are', async () => {
    const { code, stderr } = await runCommand(['completion', 'tcsh'])
    assert.equal(code, 2)
    assert.match(stderr, /bash, zsh, fish/)
  })
})
