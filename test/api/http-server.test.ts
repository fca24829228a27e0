import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { jsonReply } from '#api/answer.ts'
import { HttpServer } from '#api/http-server.ts'

const REQUEST = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'

async function listening(): Promise<{ server: HttpServer; open: () => Promise<Socket> }> {
  const server = new HttpServer(error => {
    throw error
  })
  server.on('GET', '/', httpCall => jsonReply(httpCall, 200, '"done"'))
  const { hostname, port } = new URL(await server.listen({ host: '127.0.0.1', port: 0 }))
  const open = async (): Promise<Socket> => {
    const socket = connect({ host: hostname, port: Number(port) })
    await once(socket, 'connect')
    return socket
  }
  return { server, open }
}

const answerTo = async (socket: Socket): Promise<string> => {
  socket.write(REQUEST)
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return bytes.toString()
}

test('a server that closes answers a request that was on its way on a new connection', async () => {
  const { server, open } = await listening()
  const fresh = await open()
  // It was accepted before this one, which is answered.
  const used = await open()
  assert.match(await answerTo(used), /^HTTP\/1\.1 200 /)
  const closed = server.close()
  // The listener is closed once nothing more can connect.
  await assert.rejects(async () => {
    for (;;) (await open()).destroy()
  })
  const answer = await answerTo(fresh)
  assert.match(answer, /^HTTP\/1\.1 200 /)
  assert.match(answer, /connection: close/i)
  await closed
})

test('a server that closes does not wait long for a connection without a request', async () => {
  const { server, open } = await listening()
  const silent = await open()
  const used = await open()
  await answerTo(used)
  const ended = [once(silent.resume(), 'end'), once(used.resume(), 'end')]
  await server.close()
  await Promise.all(ended)
  assert.ok(silent.readableEnded && used.readableEnded)
})
