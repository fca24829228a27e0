import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { settings } from '#base/settings.ts'

const { read } = settings.event_endpoints

suite('event_endpoints', () => {
  test('names the services that are elsewhere', () => {
    assert.deepEqual(read('firehose=https://vpce-1.example/, azure_login=http://127.0.0.1:9/x'), {
      firehose: 'https://vpce-1.example',
      azure_login: 'http://127.0.0.1:9/x',
    })
    assert.deepEqual(read(''), {})
  })

  for (const value of [
    's3=https://a.example',
    'firehose',
    'firehose=',
    'firehose=ftp://a.example',
    'https://a.example',
  ])
    test(`refuses ${value}`, () => {
      assert.throws(() => read(value), { name: 'SettingError' })
    })
})
