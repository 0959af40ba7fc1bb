#!/usr/bin/env node
// SPDX-License-Identifier: ISC
// A model that follows a script: Anthropic Messages, OpenAI Responses and Chat Completions.
//
//     mock.js --port 8787 --script steps.json --cwd /project --log requests.jsonl [--address 127.0.0.1]
//
// In the directory's name % stands for the harness that asks, as its interface tells: claude, codex, opencode.
//
// The script is a list of steps {name, tool, ...}; a step becomes a call of the harness's own tool.
// How many tool results a request carries says which step is next, so the server keeps no state and
// a harness may retry.  A tool that the harness does not have yet (MCP servers start beside the first
// request) is asked for again, a while.  Every request is logged, and with it the result of the step before: what the
// tool really did.  When the steps are used up the answer is the text ALL-DONE.
'use strict'

const fs = require('fs')
const http = require('http')
const anthropic = require('./mock_anthropic.js')
const responses = require('./mock_responses.js')
const chat = require('./mock_chat.js')

const BODY_MAX = 64 << 20

function parseArguments(argv) {
	const options = { address: '127.0.0.1', port: '8787', cwd: '/', log: '', script: '' }
	for (let i = 0; i < argv.length; i += 2) {
		const name = argv[i].replace(/^--/, '')
		if (!(name in options) || argv[i + 1] === undefined) {
			process.stderr.write(`mock.js: what is ${argv[i]}?\n`)
			process.exit(2)
		}
		options[name] = argv[i + 1]
	}
	return options
}

const options = parseArguments(process.argv.slice(2))
const steps = JSON.parse(fs.readFileSync(options.script, 'utf8'))
const log = options.log ? fs.openSync(options.log, 'a') : 1

function record(entry) {
	fs.writeSync(log, JSON.stringify({ ms: Date.now(), ...entry }) + '\n')
}

const HARNESS = { anthropic: 'claude', responses: 'codex', chat: 'opencode' }

const NO_TOOL = /unsupported call|No such tool available|unavailable tool/i
const NO_TOOL_TRIES = 120

// The results that count: not those that say there is no such tool, unless there never is one.
function counted(results) {
	const real = results.filter((text) => !NO_TOOL.test(text))
	if (results.length - real.length > NO_TOOL_TRIES) return results
	if (results.length && NO_TOOL.test(results[results.length - 1]))
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
	return real
}

// What to answer when `results` (text of each tool result, in order) have come back.
function answer(api, all, is_side_call) {
	if (is_side_call) return { text: 'Scripted title' }
	const results = counted(all)
	const done = results.length
	const entry = { api, done }
	if (done > 0) {
		const step = steps[Math.min(done, steps.length) - 1]
		Object.assign(entry, { step: step.name, result: results[done - 1] })
	}
	record(entry)
	if (done >= steps.length) return { text: 'ALL-DONE' }
	return { step: steps[done], number: all.length, cwd: options.cwd.replace('%', HARNESS[api]) }
}

function readBody(request, then) {
	const chunks = []
	let length = 0
	request.on('data', (chunk) => {
		length += chunk.length
		if (length > BODY_MAX) request.destroy()
		else chunks.push(chunk)
	})
	request.on('end', () => {
		const text = Buffer.concat(chunks).toString('utf8')
		let body = null
		try {
			body = text ? JSON.parse(text) : {}
		} catch (error) {
			record({ error: `not JSON: ${error.message}`, url: request.url })
		}
		then(body)
	})
}

// One server-sent event at a time, as the real ones arrive.
function stream(response, events) {
	response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
	for (const event of events) {
		if (event.type && !event.bare) response.write(`event: ${event.type}\n`)
		response.write(`data: ${typeof event.data === 'string' ? event.data : JSON.stringify(event.data)}\n\n`)
	}
	response.end()
}

function json(response, status, body) {
	const text = JSON.stringify(body)
	response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
	response.end(text)
}

const routes = { 'POST /v1/messages': anthropic.messages, 'POST /v1/messages/count_tokens': anthropic.countTokens,
	'HEAD /api/hello': anthropic.hello, 'GET /api/hello': anthropic.hello, 'HEAD /': anthropic.hello,
	'POST /v1/responses': responses.create, 'GET /v1/models': responses.models,
	'POST /v1/chat/completions': chat.completions }

const server = http.createServer((request, response) => {
	const path = request.url.split('?')[0]
	const route = routes[`${request.method} ${path}`]
	readBody(request, (body) => {
		const authorization = request.headers.authorization || request.headers['x-api-key'] || ''
		record({ method: request.method, url: request.url, key: authorization.slice(-8) })
		if (!route || body === null)
			json(response, 404, { error: { type: 'not_found_error', message: 'not in the mock' } })
		else route(body, response, { answer, stream, json, record })
	})
})

// Codex asks for a websocket first and is content with a refusal.
server.on('upgrade', (request, socket) => {
	record({ method: request.method, url: request.url, upgrade: true })
	socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
})

server.listen(Number(options.port), options.address, () => record({ listening: server.address().port }))
