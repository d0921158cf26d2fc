# Drives the server with libraries over the vendor's SDK.
import asyncio
import os

url = os.environ["URL"] + "/v1"
os.environ.update(OPENAI_BASE_URL=url, OPENAI_API_KEY="alice", OPENAI_AGENTS_DISABLE_TRACING="1", LITELLM_LOCAL_MODEL_COST_MAP="True")


async def agents():
    from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIConversationsSession, Runner, function_tool
    from openai import AsyncOpenAI
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    calls = []

    @function_tool
    def get_weather(city: str) -> str:
        "The weather."
        calls.append(city)
        return f"sunny {len(calls)}"

    agent = Agent(name="a", model="clerk", instructions="Be brief.", tools=[get_weather])
    client = AsyncOpenAI()
    session = OpenAIConversationsSession(openai_client=client)
    for options in ({}, {"auto_previous_response_id": True}, {"session": session}):
        calls.clear()
        result = await Runner.run(agent, "weather again", **options)
        assert result.final_output == "It is sunny 2." and calls == ["Bern", "Bern"], (options, result.final_output, calls)
    second = await Runner.run(Agent(name="b", model="clerk"), "history", session=session)
    assert "It is sunny 2." in second.final_output and second.final_output.endswith("|user:history"), second.final_output
    calls.clear()
    over_chat = agent.clone(model=OpenAIChatCompletionsModel("clerk", client))
    assert (await Runner.run(over_chat, "weather twice")).final_output == "It is sunny 1 and sunny 2."
    typed = await Runner.run(Agent(name="c", model="clerk", output_type=Person), "json")
    assert typed.final_output == Person(name="Ada", age=36), typed.final_output
    looked = Runner.run_streamed(Agent(name="d", model="clerk"), "look")
    async for _ in looked.stream_events():
        pass
    assert looked.final_output == "It is look done.", looked.final_output


def litellm():
    import litellm

    options = {"model": "openai/clerk", "api_base": url, "api_key": "alice"}
    say = lambda text: [{"role": "user", "content": text}]
    assert litellm.completion(messages=say("hi"), **options).choices[0].message.content == "You said hi"
    text = "".join(c.choices[0].delta.content or "" for c in litellm.completion(messages=say("hi"), stream=True, **options))
    assert text == "You said hi", text
    r = litellm.responses(input="hi", **options)
    assert r.output[0].content[0].text == "You said hi", r
    for kind, changed in ((litellm.NotFoundError, {"model": "openai/nope"}), (litellm.AuthenticationError, {"api_key": "nobody"})):
        try:
            litellm.completion(messages=say("hi"), **(options | changed))
        except kind:
            continue
        raise AssertionError(kind)


def langchain():
    from langchain_core.tools import tool
    from langchain_core.messages import ToolMessage, HumanMessage
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    @tool
    def get_weather(city: str) -> str:
        "The weather."
        return "sunny in " + city

    for options in ({}, {"use_responses_api": True}):
        llm = ChatOpenAI(model="clerk", **options)
        assert llm.invoke("hi").text == "You said hi", options
        assert "".join(c.text for c in llm.stream("hi")) == "You said hi", options
        bound = llm.bind_tools([get_weather])
        asked = bound.invoke("weather")
        call = asked.tool_calls[0]
        done = bound.invoke([HumanMessage("weather"), asked, ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"])])
        assert done.text == "It is sunny in Bern.", (options, done)
        assert llm.with_structured_output(Person).invoke("json") == Person(name="Ada", age=36), options


asyncio.run(agents())
litellm()
langchain()
