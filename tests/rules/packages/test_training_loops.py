"""What the parts of a training loop refuse: optimizers, schedules, losses, loaders, trainers, metrics, sharding.

Each class is a message as its library prints it, what the sentence must say, and what the remedy must name.
"""

from __future__ import annotations

import pytest

from envdoctor.rules.finding import Finding
from tests.rules.packages.test_known_errors import judged

CLASSES = r"""
ValueError: optimizer got an empty parameter list | no parameters | nn.ModuleList
ValueError: some parameters appear in more than one parameter group | two of its groups | id()
TypeError: params argument given to the optimizer should be an iterable of Tensors or | no list of tensors | [tensor]
TypeError: optimizer can only optimize Tensors, but one of the params is | no list of tensors | itertools.chain
ValueError: can't optimize a non-leaf Tensor | computed from another | detach()
ValueError: Tried to step 1002 times. The specified number of total steps is 1000 | made for 1000 steps | optimizer
  steps of an epoch
ValueError: Tried to step 12 times. The specified number of steps is 10 | made for 10 steps | make the schedule anew
TypeError: FP16_Optimizer is not an Optimizer | FP16_Optimizer is not of that class | wrapper.optimizer
TypeError: ReduceLROnPlateau.step() missing 1 required positional argument: 'metrics' | without that number |
  scheduler.step(validation_loss)
ValueError: batch_sampler option is mutually exclusive with batch_size, | were both given | leave the others out
ValueError: DataLoader with IterableDataset: expected unspecified shuffle option, but got shuffle=True | takes no
  shuffle there | buffer_size
ValueError: args.max_steps must be set to a positive value if dataloader does not have a length, was -1 | length is
  asked of a stream | streaming=False
TypeError: h5py objects cannot be pickled | open file | __getitem__
TypeError: cannot pickle '_io.BufferedReader' object | open file | __getitem__
AttributeError: Can't get local object 'make.<locals>.collate' | local function | top of a module
TypeError: 'DataLoader' object is not subscriptable | no numbered batches | loader.dataset
AttributeError: Can't get attribute 'Net' on <module '__main__' from 'infer.py'> | has none | state_dict()
IndexError: Target 5 is out of bounds. | outside of the classes | ignore_index
RuntimeError: Class values must be smaller than num_classes. | outside of the classes | num_classes
RuntimeError: 0D or 1D target tensor expected, multi-target not supported | one-hot | argmax(1)
RuntimeError: Expected target size [8, 10], got [8] | classes stand last | view(-1
RuntimeError: only batches of spatial targets supported (3D tensors) but got | number of dimensions | squeeze(1)
RuntimeError: weight tensor should be defined either for all 21 classes or no classes but | class weights | last layer
RuntimeError: all elements of input should be between 0 and 1 | no probabilities | BCEWithLogitsLoss
RuntimeError: all elements of target should be between 0 and 1 | masks of 0 to 255 | mask / 255
RuntimeError: torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast. | under autocast |
  BCEWithLogitsLoss
ValueError: Target size (torch.Size([16])) must be the same as input size | different shapes | view_as
ValueError: Using a target size (torch.Size([64])) that is different to the input size (torch.Size([64, 1])) is
  deprecated. Please ensure they have the same size. | different shapes | unsqueeze(1)
RuntimeError: scatter(): Expected dtype int64 for index | type of whole numbers | long()
AttributeError: 'tuple' object has no attribute 'backward' | is a tuple and no tensor | loss[0]
RuntimeError: One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if
  this is the desired behavior. | not computed from | allow_unused=True
RuntimeError: Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.
  | is copied | parametrizations.weight_norm
RuntimeError: Legacy autograd function with non-static forward method is deprecated. | early PyTorch | @staticmethod
RuntimeError: cudnn RNN backward can only be called in training mode | eval mode | model.train()
RuntimeError: the derivative for 'target' is not implemented | no derivative here (target) | .detach()
RuntimeError: derivative for aten::_scaled_dot_product_efficient_attention_backward is not implemented | fused kernel
  | SDPBackend.MATH
RuntimeError: upsample_bicubic2d_backward_out_cuda does not have a deterministic implementation, but you set
  'torch.use_deterministic_algorithms(True)'. | has none on this device | warn_only=True
RuntimeError: Deterministic behavior was enabled, but this operation is not deterministic because it uses CuBLAS and
  you have CUDA >= 10.2. | workspace of fixed size | Set the variable
StopIteration: Caught StopIteration in replica 0 on device 0. | copies have none | torchrun
RuntimeError: Input tensor at index 1 has invalid shape [3, 10], but expected [4, | different shapes | total_length
ValueError: SyncBatchNorm expected input tensor to be on GPU | SyncBatchNorm | norm_cfg
RuntimeError: Tensors must be contiguous | not lie in one piece | contiguous()
train.py: error: unrecognized arguments: --local-rank=0 | launcher hands each process | LOCAL_RANK
AssertionError: zero stage 2 requires an optimizer | ZeRO 2 is given a model without | stage 0
ZeRORuntimeException: The checkpoint being loaded used a DP world size of 8 but the current world size is 4. Automatic
  adjustment is not supported. | cut into 8 parts | universal checkpoint
AssertionError: You are using an untested ZeRO Optimizer. Please add <"zero_allow_untested_optimizer": true> | none of
  those that DeepSpeed has tried | zero_allow_untested_optimizer
ValueError: You cannot specify an optimizer in the config file and in the code at the same | do not agree | DummyOptim
ValueError: When using DeepSpeed, `accelerate.prepare()` requires you to pass at least one of training or evaluation
  dataloaders with `batch_size` attribute returning an integer value | cannot tell DeepSpeed the batch size |
  train_micro_batch_size_per_gpu
pydantic_core._pydantic_core.ValidationError: 1 validation error for DeepSpeedZeroConfig | another kind | whole
  numbers
ValueError: Expected a string path to an existing deepspeed config, or a | path of a file that is there | whole path
ValueError: Cannot flatten integer dtype tensors | quantised | bnb_4bit_quant_storage
RuntimeError: The tensor has a non-zero number of elements, but its data is not allocated yet. | has no memory |
  summon_full_params
AssertionError: It is illegal to call Engine.step() inside no_sync | within no_sync() | gradient_accumulation_steps
MisconfigurationException: `ModelCheckpoint(monitor='val_f1')` could not find the monitored key | (val_f1) | self.log(
RuntimeError: Early stopping conditioned on metric `val_loss` which is not available. Pass in | (val_loss) | self.log(
KeyError: "The `metric_for_best_model` training argument is set to 'eval_f1', which is not found in the evaluation
  metrics." | (eval_f1) | compute_metrics
KeyError: 'eval_loss' | takes eval_loss from | label_names
NotImplementedError: Support for `training_epoch_end` has been removed in v2.0.0. `Net` implements this method. |
  training_epoch_end is a hook of Lightning 1 | Lightning 1
MisconfigurationException: The provided lr scheduler `StepLR` doesn't follow PyTorch's LRScheduler API. You should
  override the `LightningModule.lr_scheduler_step` hook | older than PyTorch 2 | 1.9
RuntimeError: Training with multiple optimizers is only supported with manual optimization. | several optimizers |
  automatic_optimization
MisconfigurationException: Automatic gradient clipping is not supported for manual optimization. | by itself |
  clip_gradients
MisconfigurationException: No `test_dataloader()` method defined to run `Trainer.test`. | test_dataloader |
  trainer.test
ValueError: You selected an invalid strategy name: `strategy='ddp_sharded'`. | no strategy of that | fsdp
AttributeError: can't set attribute 'hparams' | self.hparams | save_hyperparameters
KeyError: 'pytorch-lightning_version' | no entry for the release of Lightning | load_state_dict
ValueError: AcceleratorState has already been initialized and cannot be | second Accelerator | restart the kernel
RuntimeError: Lightning can't create new processes if CUDA is already initialized. | touched before | Restart the
  kernel
train.py: error: argument --mixed_precision: invalid choice: 'fp32' (choose | name is no | --mixed_precision no
ValueError: FooForCausalLM does not support gradient checkpointing. | FooForCausalLM | Turn it off
TypeError: FooPreTrainedModel._set_gradient_checkpointing() got an unexpected keyword argument 'enable' | 4.35 | newer
  copy
File "/home/u/proj/train.py", line 9, in train_epoch // resume: runs/last.pth // KeyError: 'optimizer' | has no
  such entry | pretrained weights
ZeroDivisionError: Unsloth: All labels in your dataset are -100. Training | No token would be trained | response_part
ValueError: Cannot handle batch sizes > 1 if no padding token is defined. | no padding token | pad_token_id
ValueError: text input must be of type `str` (single example), `list[str]` (batch or single | no text | dropna()
OverflowError: out of range integral type conversion attempted | -100 | np.where
ValueError: expected sequence of length 512 at dim 1 (got 430) | different lengths | padding=True
ValueError: Classification metrics can't handle a mix of binary and continuous targets | different kinds | argmax(1)
ValueError: Target is multiclass but average='binary'. Please choose another average | average | "macro"
ValueError: Only one class present in y_true. ROC AUC score is not defined in that case. | one label | stratify=
ValueError: multi_class must be in ('ovo', 'ovr') | more than two classes | multi_class="ovr"
ValueError: Found input variables with inconsistent numbers of samples: [100, 90] | 100 and 90 | last batch
ValueError: The least populated class in y has only 1 member, which is too few. | too few examples | without stratify
ValueError: y contains previously unseen labels: ['owl'] | not fitted with | all parts
ValueError: Input X contains NaN. | empty cells | np.isnan
ValueError: Unexpected keyword arguments: `compute_on_step` | compute_on_step in 0.9 | torchmetrics<0.9
ValueError: The implied number of classes (from shape of inputs) does not match num_classes. | than it was made for
  | num_classes
ValueError: Predictions and/or references don't match the expected format. | logits | argmax(-1)
ValueError: setting an array element with a sequence. The requested array has an inhomogeneous shape after 1
  dimensions. The detected shape was (2,) + inhomogeneous part. | different lengths | dtype=object
ValueError: operands could not be broadcast together with shapes (32,) | Arrays of different shapes | Print the shapes
ValueError: At least one stride in the given numpy array is negative, and tensors with | turned view | .copy()
TypeError: Object of type float32 is not JSON serializable | A float32 | x.item()
pandas.errors.ParserError: Error tokenizing data. C error: Expected 3 fields in line | more fields than | on_bad_lines
RuntimeError: output with shape [1, 28, 28] doesn't match the broadcast shape [3, 28, 28] | three means |
  convert("RGB")
RuntimeError: Calculated padded input size per channel: (1 x 1). Kernel size: (3 x 3). Kernel size can't be greater
  than actual input size | too small for this network | larger inputs
RuntimeError: Expected hidden[0] size (2, 16, 128), got [2, 32, 128] | another width or batch | drop_last=True
IndexError: invalid index of a 0-dim tensor. Use `tensor.item()` in Python | before 0.4 | loss.item()
NotImplementedError: Module [Net] is missing the required "forward" function | Net has no forward | ModuleList
AttributeError: cannot assign module before Module.__init__() call | before nn.Module | super()
File "/home/u/p/data.py", line 3, in __getitem__ // IndexError: list index out of range | more than it holds | lengths
  of the lists
IndexError: index 5 is out of bounds for axis 0 with size 5 | 5 of 5 | begin at 1
torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: Could not | depends on the numbers | torch._check
TypeError: RNG state must be a torch.ByteTensor | onto the GPU | .cpu()
RuntimeError: Parent directory ckpt does not exist. | not there: ckpt | makedirs
safetensors_rust.SafetensorError: Error while serializing: IoError(Os { code: 28, kind: StorageFull }) | no space left |
  save_total_limit
ValueError: Expected parameter logits (Tensor of shape (1, 4)) of distribution Categorical(logits: torch.Size([1, 4]))
  to satisfy the constraint IndependentConstraint(Real(), 1), but found invalid values: | NaN | rewards
ValueError: The global train batch size (3 x 1) must be evenly divisible by the number of generations per prompt (8).
  | no multiple | num_generations
AttributeError: 'TrainingArguments' object has no attribute 'model_init_kwargs' | asked for model_init_kwargs |
  SFTConfig
AttributeError: 'MyTrainer' object has no attribute 'tokenizer' | processing_class | transformers<5
TypeError: MyTrainer.training_step() takes 3 positional arguments but 4 were given | training_step, of a
  Trainer or of the module | **kwargs
FileNotFoundError: Unable to find '/data/train.json' | /data/train.json | data_files
RuntimeError: grad_output must be contiguous | one piece | .contiguous()
TypeError: img should be PIL Image. Got <class 'torch.Tensor'> | wrong order | ToTensor()
TypeError: conv2d(): argument 'input' (position 1) must be Tensor, not tuple | given a tuple | output[0]
IndexError: too many indices for tensor of dimension 1 | another number of dimensions | unsqueeze(0)
RuntimeError: selected index k out of range | More of the largest | min(k
AssertionError: If capturable=False, state_steps should not be CUDA tensors | torch 1.12.0 | Leave torch 1.12.0
File "/home/u/proj/train.py", line 9, in train_epoch // ZeroDivisionError: division by zero | by a number that is 0 |
  drop_last
File "/home/u/proj/train.py", line 9, in train_epoch // KeyError: 'labels' | no such entry | rename_column
File "/home/u/proj/train.py", line 9, in train_epoch // if not 0.0 <= lr: // TypeError: '<=' not supported between
  instances of 'float' and 'str' | YAML read 1e-4 | 1.0e-4
RuntimeError: Expected a 'cuda' generator device but found 'cpu' | lies on another device | torch.Generator
RuntimeError: CUDA driver error: out of memory | memory of the device | nvidia-smi
wandb: ERROR api_key not configured (no-tty) | nobody is logged in | WANDB_MODE
ValueError: Some specified arguments are not used by the HfArgumentParser: | argument classes | torchrun
ValueError: Undefined dataset mine in dataset_info.json. | no entry mine | --dataset_dir
RuntimeError: Cannot find valid samples, check `data/README.md` for the data format. | can use no row | formatting
pydantic_core._pydantic_core.ValidationError: 2 validation errors for AxolotlInputConfig | does not take |
  Compare the key
ValueError: You must specify exactly one of input_ids or inputs_embeds | gets neither | batch.keys()
ValueError: Image features and image tokens do not match: tokens: 100, features 200 | it was cut | truncation=False
ValueError: Unable to infer channel dimension format | neither 1 nor 3 channels | convert("RGB")
File "/home/u/p/train.py", line 3, in train // KeyError: 'chosen' | takes chosen from | data format
requests.exceptions.ConnectionError: vLLM server can't be reached | none answers | vllm-serve
ValueError: Adapter with name default already exists. | put into this model before | adapter_name
TypeError: Provided `function` which is applied to all elements of table returns a variable | than a dict | batched=True
AssertionError: Label class 15 exceeds nc=15 in data.yaml. Possible class labels are 0-14 | class 15 | from 0
AssertionError: The `num_classes` (80) in BBoxHead of MMDataParallel does not matches the length of `CLASSES` 3) in
  CocoDataset | head has 80 classes | to 3
FloatingPointError: Predicted boxes or scores contain Inf/NaN. Training has diverged. | diverged | BASE_LR
RuntimeError: Expected 3D (unbatched) or 4D (batched) input to conv2d, but got | number of dimensions | unsqueeze(0)
RuntimeError: size mismatch, m1: [32 x 512], m2: [1024 x 10] at | whose widths do not fit | in_features
RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long | on the GPU | lengths.cpu()
RuntimeError: Length of all samples has to be greater than 0, but found an element in 'lengths' | length 0 | clamp
RuntimeError: Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got
  torch.FloatTensor instead (while checking arguments for embedding) | of type Float | ids.long()
RuntimeError: Expected object of scalar type Long but got scalar type Float for | two number formats | .long()
TypeError: only size-1 arrays can be converted to Python scalars | several elements | x.mean()
RuntimeError: Subtraction, the `-` operator, with a bool tensor is not supported. | early PyTorch | ~mask
RuntimeError: expected device cpu but got device cuda:0 | another device | model.to(device)
ValueError: Label values must be <= vocab_size: 32 | vocabulary of the model is smaller | ignore_mismatched_sizes
TypeError: iteration over a 0-d tensor | without dimensions | reshape(-1)
TypeError: expected Tensor as element 0 in argument 0, but got numpy.ndarray | a numpy.ndarray is given | as_tensor
ValueError: zero-size array to reduction operation maximum which has no identity | empty that must not be | len()
ValueError: could not convert string to float: 'abc' | is none | separator
ValueError: All arrays must be of the same length | different lengths | Print their lengths
ValueError: X has 10 features, but LinearRegression is expecting 12 features as input. | fitted with 12 | Pipeline
ValueError: Unknown label type: 'continuous' | measured numbers | regressor
File "/v/lib/python3.11/site-packages/pandas/core/indexes/base.py", line 9, in get_loc // KeyError: 'filepath' | no
  column | df.columns
AttributeError: 'DataFrame' object has no attribute 'ix' | before 1 | iloc
AttributeError: '_MultiProcessingDataLoaderIter' object has no attribute 'next' | dropped in 1.13 | next(iterator)
RuntimeError: quantile() input tensor is too large | beyond what | in parts
RuntimeError: Could not infer dtype of NoneType | made of a NoneType | fill or drop
AssertionError: embed_dim must be divisible by num_heads | exclude each other | multiple
AssertionError: The shape of the 2D attn_mask is torch.Size([77, 77]), but should be (1, 1). | mask was made for
  another | batch_first
ValueError: 'epochs' is not a valid IntervalStrategy, please select one of ['no', 'steps', | does not know | lists
AssertionError: EarlyStoppingCallback requires IntervalStrategy of | contradict each other | load_best_model_at_end
assert outputs.is_cuda or outputs.device.type == "xla" // AssertionError: | does not lie on the GPU | enabled=
instance_ref = weakref.ref(method.__self__) // AttributeError: 'function' object has no attribute '__self__' |
  apex.amp | torch.amp
TypeError: cannot unpack non-iterable NoneType object | None stands where | which value is None
TypeError: 'NoneType' object is not subscriptable | None stands where | which value is None
TypeError: unsupported operand type(s) for +: 'NoneType' and 'int' | None stands where | which value is None
TypeError: list indices must be integers or slices, not str | read like a dict | first element
RecursionError: maximum recursion depth exceeded while calling a Python object | deeper than Python allows |
  repeat in the traceback
RuntimeError: unable to open file </torch_123> in read-only mode: No such file or | shared memory was gone |
  num_workers=0
AttributeError: 'Tensor' object has no attribute 'astype' | asked of a tensor | torch.float32
ValueError: torch.utils.checkpoint: please pass in use_reentrant=True or use_reentrant=False explicitly. | wants to be
  told | use_reentrant=False
tensorflow.python.framework.errors_impl.InvalidArgumentError: Found Inf or NaN global norm. : Tensor had NaN values |
  became NaN | clip gradients
assert img.size[1] == segm.size[1] // AssertionError | A check of the code itself | of one size
assert(segm.mode == "L") // AssertionError | (segm.mode == "L") | grey picture
assert mode in MODES // AssertionError | its condition: mode in MODES | Print what stands in it
ValueError: Shapes (None, 1) and (None, 10) are incompatible | one-hot | sparse_categorical
ValueError: Input 0 of layer "dense" is incompatible with the layer: expected axis | another shape | model.summary()
ValueError: Data cardinality is ambiguous. | cannot take the data | len(x)
ValueError: decay is deprecated in the new Keras optimizer, please check the docstring | not take decay | learning_rate
import keras // AttributeError: 'Adam' object has no attribute 'lr' | earlier Keras | learning_rate
ValueError: Could not interpret optimizer identifier: <keras.optimizers.Adam object> | mixed | one of keras
ValueError: No gradients provided for any variable: ['dense/kernel:0']. | nothing to train by | GradientTape
jax.errors.TracerBoolConversionError: Attempted boolean conversion of traced array with | not known yet | lax.cond
flax.errors.ScopeParamShapeError: Initializer expected to generate shape (10, 3) | another type or shape | made for
UnboundLocalError: local variable 'loss' referenced before assignment | loss is used before | empty loader
AttributeError: 'Namespace' object has no attribute 'local_rank' | asks local_rank of | one release
ValueError: Object arrays cannot be loaded when allow_pickle=False | Python objects | allow_pickle=True
TypeError: 'module' object is not callable | A module is called | module.name()
TypeError: slice indices must be integers or None or have an __index__ method | it is a float | int(x)
TypeError: unhashable type: 'list' | A list is used as a key | tuple(x)
IndexError: tuple index out of range | fewer parts | Print its length
ValueError: assignment destination is read-only | may only be read | x.copy()
FileExistsError: [Errno 17] File exists: 'runs/exp1' | is there already | exist_ok=True
SyntaxError: unexpected EOF while parsing | cannot read the source | git diff
Error invalid configuration argument at line 119 in file /src/csrc/ops.cu | empty tensor | ZeRO-2
buf.mul_(momentum).add_(1 - dampening, d_p) // RuntimeError: sizes do not match at THC/THCTensorMath.cu:271 |
  optimizer's | fresh
KeyError: Parameter containing: | no entry for one of them | Move the model first
RuntimeError: storage has wrong size: expected 0 got 512 | is damaged | rank 0
ValueError: When using `deepspeed_config_file`, the following accelerate config variables will be ignored:
  ['zero_stage'] | belong | Leave
No data found. Please verify arguments (train_data_dir must be the parent of folders with | no pictures | 10_name
ValueError: x and y must have same first dimension, but have shapes (51,) and (50,) | plotted | the list itself
ValueError: __len__() should return >= 0 | negative | settings of the first
"""
"""A message, what its sentence says, what its remedy names; " // " parts lines, and an indented line goes on."""


def root(text: str) -> Finding:
    found = judged(f"{text}\n").root_cause
    assert found is not None
    return found


def rows() -> list[str]:
    return CLASSES.strip().replace("\n  ", " ").splitlines()


@pytest.mark.parametrize("row", rows())
def test_each_refusal_is_explained(row: str) -> None:
    message, says, helps = f"{row} ".split(" | ")
    found = root(message.replace(" // ", "\n"))
    assert says in found.message
    assert helps.strip() in " ".join((found.remedy.text, *found.remedy.commands))


@pytest.mark.parametrize(
    ("text", "not_said"),
    [
        # a warning of the same words, which ends nothing
        (
            "UserWarning: Using a target size (torch.Size([64])) that is different to the input size (torch.Size([64, "
            "1])). This will likely lead to incorrect results due to broadcasting.",
            "compares output and labels",
        ),
        # a file of HTML or a mistake elsewhere
        ("KeyError: 'optimizer'", "goes on from"),
        ("IndexError: list index out of range", "while an example is fetched"),
        ("ZeroDivisionError: division by zero", "divided by a number that is 0"),
        ("TypeError: '<=' not supported between instances of 'float' and 'str'", "YAML"),
        # a scheduler of the caller's own is no matter of torch 2
        (
            "MisconfigurationException: The provided lr scheduler `Poly` doesn't follow PyTorch's LRScheduler API.",
            "older than PyTorch 2",
        ),
        ("AttributeError: 'TrainingArguments' object has no attribute 'my_flag'", "trainer of trl"),
        ("train.py: error: argument --mixed_precision: invalid choice: 'fp61' (choose from 'no', 'fp16')", "name no"),
        ("train.py: error: unrecognized arguments: --rank=0", "launcher hands"),
        ("AttributeError: 'tuple' object has no attribute 'forward'", "What backward() is called on"),
        ("RuntimeError: Expected a 'cuda' generator device but found 'cpu'", "Apple"),
        ("AttributeError: Can't get attribute 'Net' on <module '__main__' from 'infer.py'>", "a lambda"),
        ("AttributeError: 'Adam' object has no attribute 'lr'", "Keras"),
        ("AttributeError: 'dict' object has no attribute 'lower'", "from its configuration"),
        ("RuntimeError: Unable to open landmarks.dat", "HDF5"),
        ("assert x in y, 'no y'\nAssertionError: no y", "its condition"),
        ("KeyError: 'filepath'", "pandas"),
        ("KeyError: 'eval_batch_size'", "among the metrics"),
        (
            "UserWarning: Legacy autograd function with non-static forward method is deprecated and will be removed in "
            "1.3.",
            "An instance of an autograd.Function",
        ),
        ("UserWarning: The least populated class in y has only 3 members, which is less than n_splits=5.", "too few"),
        ("KeyError: 'chosen'", "splits"),
        ("AttributeError: 'function' object has no attribute '__self__'", "apex"),
        ("RuntimeError: mat2 must be a matrix, got 1-D tensor", "FSDP or ZeRO"),
        ("RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.", "empty cells"),
    ],
)
def test_what_resembles_it_is_not_told_so(text: str, not_said: str) -> None:
    assert all(not_said not in found.message for found in judged(f"{text}\n").findings)


@pytest.mark.parametrize(
    ("told", "subject"),
    [
        ("Memory leak? It runs out of memory after 3 epochs.", "memory that grows"),
        ("Training is fine, this happens in the evaluation step.", "memory in evaluation"),
        ("It fails at once, whatever the batch.", None),
    ],
)
def test_when_the_memory_is_full(told: str, subject: str | None) -> None:
    found = judged(f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n{told}\n").findings
    assert [one.subject for one in found if one.subject.startswith("memory ")] == [subject] * bool(subject)


@pytest.mark.parametrize(
    "text",
    [
        "UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`.",
        "AssertionError: can only test a child process",
        "UserWarning: Could not find response key `### Answer:` in the following instance: a. This instance will be "
        "ignored in loss calculation.",
    ],
)
def test_what_ends_no_run_is_a_warning(text: str) -> None:
    found = root(text)
    assert found.severity is not None
    assert found.severity.word == "warning"
