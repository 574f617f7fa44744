const choices=[...document.querySelectorAll("select")],rows=[...document.querySelectorAll("tr[data-suite]")];
function show(){for(const row of rows)row.hidden=choices.some(choice=>choice.value&&
 !row.dataset[choice.name].split("|").includes(choice.value));
 for(const part of document.querySelectorAll("section"))part.hidden=!part.querySelector("tbody tr:not([hidden])");
 location.replace("#"+new URLSearchParams(choices.filter(one=>one.value).map(one=>[one.name,one.value])));}
const asked=new URLSearchParams(location.hash.slice(1));
for(const choice of choices){if(asked.has(choice.name))choice.value=asked.get(choice.name);
 choice.addEventListener("change",show);}
if(location.hash)show();
