import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import * as messages from '#tunnel/messages.ts'
import { encodeProxyHeader, readProxyHeader } from '#tunnel/proxy-header.ts'
import type { TunnelStream } from '#tunnel/stream.ts'
import { sessionWithPeer, frame, hex, recordStream, uint32 } from './support.ts'

const header = {
  Id: 'tn_1',
  ClientAddr: '203.0.113.7:51234',
  Proto: 'https',
  EdgeType: '0',
  PassthroughTLS: false,
}

/** One whole message of each kind, as it is on the wire. */
const examples = {
  authRequest: [
    messages.authRequest,
    `{"Version":["3","2"],"ClientId":"","Extra":{"OS":"linux","Arch":"x86_64","AuthToken":"tok_example",
    "Version":"1.7.0","Hostname":"","UserAgent":"ngrok-javascript/1.7.0 ngrok-rust/0.18.0","Metadata":"demo","Cookie":"",
    "HeartbeatInterval":2000000000,"HeartbeatTolerance":2000000000,"UpdateUnsupportedError":"","StopUnsupportedError":null,
    "RestartUnsupportedError":"the agent has not defined a callback for this operation","ProxyType":"","MutualTLS":false,
    "ServiceRun":false,"ConfigVersion":"","CustomInterface":false,"CustomCAs":false,"ClientType":"ngrok-javascript",
    "LegNumber":0}}`,
  ],
  authAnswer: [
    messages.authAnswer,
    `{"Version":"3","ClientId":"ts_probe_1","Error":"","Extra":{"Version":"probe-1","Region":"local",
    "Cookie":"cookie-1","AccountName":"probe","SessionDuration":0,"PlanName":"self-hosted","Banner":"",
    "ConnectAddresses":[{"Region":"a","ServerAddr":"h:443"}],"AgentSessionID":"x"}}`,
  ],
  bindRequest: [
    messages.bindRequest,
    `{"Id":"","Proto":"https","ForwardsTo":"web","ForwardsProto":"","Opts":{"Domain":"app.gw.test",
    "Unknown":{"deep":[1]}},"Extra":{"Name":"n","Token":"","IPPolicyRef":"","Metadata":"web","Description":"d",
    "Bindings":["public"],"PoolingEnabled":true}}`,
  ],
  bindAnswer: [
    messages.bindAnswer,
    `{"Id":"tn_probe_2","URL":"https://app.gw.test","Proto":"https","Opts":{"Hostname":"app.gw.test"},"Error":"",
    "Extra":{"Token":"tok-tn_probe_2","TunnelID":"tn"}}`,
  ],
  startTunnelWithLabelRequest: [
    messages.startTunnelWithLabelRequest,
    `{"Labels":{"edge":"edghts_1","Team":"a"},"ForwardsTo":"app://HOST","ForwardsProto":"",
    "Metadata":"lab"}`,
  ],
  startTunnelWithLabelAnswer: [messages.startTunnelWithLabelAnswer, '{"Id":"tl_probe_4","Error":""}'],
  unbindRequest: [messages.unbindRequest, '{"Id":"tl_probe_4"}'],
  unbindAnswer: [messages.unbindAnswer, '{"Error":"","Extra":null}'],
  srvInfoAnswer: [messages.srvInfoAnswer, '{"Region":"local"}'],
  patchTunnelStateRequest: [
    messages.patchTunnelStateRequest,
    '{"TunnelId":"t","Description":"","PoolingEnabled":false}',
  ],
  updateRequest: [messages.updateRequest, '{"Version":"2.0.0","PermitMajorVersion":false}'],
  stopTunnelRequest: [
    messages.stopTunnelRequest,
    '{"Id":"tn_probe_3","Message":"stopped by admin","ErrorCode":"ERR_NGROK_9001"}',
  ],
  emptyRequest: [messages.emptyRequest, '{}'],
  plainAnswer: [messages.plainAnswer, '{"Error":"text"}'],
  proxyHeader: [messages.proxyHeader, JSON.stringify(header)],
} as const

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The same message with other spellings of its names, except inside members that are passed on as they came. */
const respelled = (value: unknown): unknown =>
  isPlain(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, item]) => [
          name.toUpperCase(),
          name === 'Opts' || name === 'Labels' ? item : respelled(item),
        ]),
      )
    : Array.isArray(value)
      ? value.map(respelled)
      : value

suite('messages', () => {
  for (const [name, [read, json]] of Object.entries(examples)) {
    const example: unknown = JSON.parse(json)

    test(`${name} is read and written with the names of the wire`, () => {
      assert.equal(JSON.stringify(read(example, '')), JSON.stringify(example))
    })

    test(`${name} is read in any case of its names and with unknown members`, () => {
      const odd = { ...(respelled(example) as object), unheard_of: { a: 1 } }
      assert.deepEqual(read(odd, ''), example)
    })

    test(`${name} is read when everything is absent`, () => {
      assert.doesNotThrow(() => read({}, ''))
    })
  }

  test('take the token in both spellings of the agents', () => {
    for (const name of ['AuthToken', 'Authtoken'])
      assert.equal(messages.authRequest({ Extra: { [name]: 'tok' } }, '').Extra.AuthToken, 'tok')
    for (const name of ['LocalUrlScheme', 'LocalURLScheme'])
      assert.equal(messages.bindOptions({ [name]: 'http' }, '').LocalUrlScheme, 'http')
  })

  test('keep apart a capability that is supported, refused, and not spoken of', () => {
    const read = (value: unknown): unknown =>
      messages.authRequest({ Extra: { StopUnsupportedError: value } }, '').Extra.StopUnsupportedError
    assert.deepEqual(['', 'why', null, undefined].map(read), ['', 'why', null, null])
  })

  test('refuse texts, lists and objects that are too large or of another type', () => {
    const refused: [() => unknown, RegExp][] = [
      [() => messages.authRequest({ ClientId: 'x'.repeat(257) }, ''), /^ClientId must be at most 256/],
      [() => messages.authRequest({ Extra: { OS: 7 } }, ''), /^Extra\.OS must be a string/],
      [
        () => messages.authRequest({ Version: Array(17).fill('3') }, ''),
        /^Version must be a list of at most 16/,
      ],
      [() => messages.authRequest({ Extra: [] }, ''), /^Extra must be an object/],
      [() => messages.authRequest({ Extra: { LegNumber: 1.5 } }, ''), /an integer/],
      [() => messages.startTunnelWithLabelRequest({ Labels: { a: 'x'.repeat(1025) } }, ''), /^Labels must/],
      [() => messages.updateRequest({ PermitMajorVersion: 'yes' }, ''), /true or false/],
    ]
    for (const [read, message] of refused) assert.throws(read, { name: 'MessageError', message })
  })
})

suite('the proxy header', () => {
  const wanted =
    hex(`6400000000000000 7b224964223a22746e5f31222c22436c69656e7441646472223a223230332e302e3131332e373a353132
    3334222c2250726f746f223a226874747073222c224564676554797065223a2230222c22506173737468726f756768544c53223a66616c73657d`)

  /** The first stream the gateway opens to an agent of ours. */
  async function accepted(...frames: Buffer[]): Promise<TunnelStream> {
    const { promise, resolve } = Promise.withResolvers<TunnelStream>()
    const { peer } = sessionWithPeer({ role: 'client', accept: (_, stream) => resolve(stream) })
    peer.send(frame(0x12, 2, uint32(3)), ...frames)
    return promise
  }

  test('is written to the byte as the agents read it', () => {
    assert.deepEqual(encodeProxyHeader(header), wanted)
  })

  test('is read in pieces of any size, and the bytes behind it stay in the stream', async () => {
    const bytes = Buffer.concat([wanted, Buffer.from('GET / HTTP/1.1')])
    for (const size of [1, 3, 8, 50, 1000]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        frame(0x10, 2, bytes.subarray(index * size, (index + 1) * size)),
      )
      const stream = await accepted(...pieces, frame(0x11, 2))
      assert.deepEqual(await readProxyHeader(stream), header)
      const sink = recordStream(stream)
      await sink.whenEnded
      assert.equal(sink.text, 'GET / HTTP/1.1')
    }
  })

  const lengths = {
    negative: 'ffffffffffffffff',
    none: '0000000000000000',
    huge: '0000000001000000',
    large: '0140000000000000',
  }
  for (const [name, length] of Object.entries(lengths))
    test(`is refused when its length is ${name}`, async () => {
      const stream = await accepted(frame(0x10, 2, hex(length)))
      await assert.rejects(readProxyHeader(stream), { name: 'MessageError' })
    })

  test('is refused when it is truncated, late or reset', async () => {
    await assert.rejects(
      readProxyHeader(await accepted(frame(0x11, 2, wanted.subarray(0, 20)))),
      /ended before/,
    )
    await assert.rejects(readProxyHeader(await accepted(), 5), { code: 'write_timeout' })
    await assert.rejects(readProxyHeader(await accepted(frame(0x00, 2, uint32(7)))), { code: 'stream_reset' })
  })
})
