import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { domainAdvice, recordsToSet, watchDomain } from '#server/domain-advice.ts'

const target = { domain: 'example.com', addresses: ['198.51.100.7', '2001:db8::7'], isSet: true }

suite('the advice about a domain', () => {
  test('names the records of all names, where others answer DNS', () => {
    assert.deepEqual(recordsToSet({ ...target, answersDns: false }), [
      'example.com A 198.51.100.7',
      'example.com AAAA 2001:db8::7',
      '*.example.com A 198.51.100.7',
      '*.example.com AAAA 2001:db8::7',
    ])
  })

  test('names two name servers with their addresses, where the server answers DNS itself', () => {
    assert.deepEqual(recordsToSet({ ...target, answersDns: true }).slice(0, 3), [
      'example.com NS ns1.example.com',
      'example.com NS ns2.example.com',
      'ns1.example.com A 198.51.100.7',
    ])
    assert.match(domainAdvice({ ...target, answersDns: true }).join('\n'), /registrar/)
  })

  test('is nothing for names of this machine, and another for a server that only this machine reaches', () => {
    assert.deepEqual(domainAdvice({ ...target, domain: 'adit.localhost', answersDns: false }), [])
    const hidden = { ...target, addresses: ['127.0.0.1'], isSet: false, answersDns: false }
    assert.match(domainAdvice(hidden).join('\n'), /ADIT_HTTPS_ADDR=0\.0\.0\.0:443/)
  })
})

suite('the state of a domain', () => {
  test('is told when it changes, until it leads here', async () => {
    const answers: (readonly string[] | Error)[] = [
      [],
      [],
      ['203.0.113.1'],
      new Error('no answer'),
      target.addresses,
    ]
    let turn = 0
    const dns = {
      cname: async () => undefined,
      // Two names are asked for each time.
      addresses: async () => {
        const answer = answers[Math.floor(turn++ / 2)] ?? []
        if (answer instanceof Error) throw answer
        return answer
      },
    }
    const lines: string[] = []
    const { signal } = new AbortController()
    const told = (text: string) => void lines.push(text)
    await watchDomain({ ...target, answersDns: true }, dns, { told, signal, firstWaitMs: 1 })
    assert.deepEqual(lines, [
      'Waiting for DNS of example.com: it is not there yet.',
      'Waiting for DNS of example.com: it leads to 203.0.113.1.',
      'Waiting for DNS of example.com: name servers do not answer.',
      'DNS of example.com leads here.',
    ])
  })
})
