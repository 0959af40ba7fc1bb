// SPDX-License-Identifier: ISC
// OpenAI Chat Completions, as OpenCode's openai-compatible provider speaks it.
'use strict'

function textOf(content) {
	if (typeof content === 'string') return content
	return Array.isArray(content) ? content.map((part) => part.text || '').join('') : ''
}

function toolResults(messages) {
	return (messages || []).filter((message) => message.role === 'tool').map((message) => textOf(message.content))
}

function callOf({ step, number, cwd }) {
	const call = (name, input) => ({ index: 0, id: `call_mock${number}`, type: 'function',
		function: { name, arguments: JSON.stringify(input) } })
	const absolute = (path) => (path.startsWith('/') ? path : `${cwd}/${path}`)
	switch (step.tool) {
	case 'shell':
		return call('bash', { command: step.command, description: step.name })
	case 'write':
		return call('write', { filePath: absolute(step.path), content: step.content })
	case 'read':
		return call('read', { filePath: absolute(step.path) })
	case 'mcp':
		return call(`${step.server}_${step.method}`, step.input)
	default:
		throw new Error(`no tool for ${step.tool}`)
	}
}

function completions(body, response, mock) {
	const is_side_call = !(body.tools || []).length
	const answer = mock.answer('chat', toolResults(body.messages), is_side_call)
	const finish_reason = answer.step ? 'tool_calls' : 'stop'
	const message = answer.step ? { tool_calls: [callOf(answer)] } : { content: answer.text }
	const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }
	const common = { id: `chatcmpl-mock${Date.now()}`, created: Math.floor(Date.now() / 1000), model: body.model }

	if (!body.stream) {
		mock.json(response, 200, { ...common, object: 'chat.completion', usage,
			choices: [{ index: 0, finish_reason, message: { role: 'assistant', content: null, ...message } }] })
		return
	}
	const chunk = (choices, more) => ({ bare: true, data: { ...common, object: 'chat.completion.chunk', choices, ...more } })
	mock.stream(response, [
		chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]),
		chunk([{ index: 0, delta: message, finish_reason: null }]),
		chunk([{ index: 0, delta: {}, finish_reason }]),
		chunk([], { usage }),
		{ bare: true, data: '[DONE]' },
	])
}

module.exports = { completions }
